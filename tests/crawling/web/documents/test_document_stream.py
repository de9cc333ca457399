from concurrent.futures import ThreadPoolExecutor

from crawling.web.document_stream import NO_DOCUMENT, DocumentStream, new_spool


def spooled(text):
    spool = new_spool()
    spool.write(text)
    return DocumentStream(spool, len(text))


def test_bytes_stay_until_their_last_holder_closes_its_own():
    first = spooled(b"some bytes")
    second, third = first.share(), first.share()

    first.close()
    first.close()
    second.close()
    assert third.read() == b"some bytes"

    third.close()
    assert third.content.closed


def test_a_holder_closes_the_others_bytes_never_however_often_it_closes():
    first = spooled(b"some bytes")
    second = first.share()

    for _ in range(3):
        second.close()

    assert first.read() == b"some bytes"
    first.close()


def test_holders_that_close_at_the_same_time_close_the_bytes_once_and_for_all():
    with ThreadPoolExecutor(8) as threads:
        for _ in range(200):
            first = spooled(b"x")
            holders = [first, *(first.share() for _ in range(7))]
            list(threads.map(DocumentStream.close, holders))
            assert first.content.closed


def test_the_document_of_an_answer_without_a_body_can_be_shared_and_closed_by_all():
    shared = NO_DOCUMENT.share()
    shared.close()
    NO_DOCUMENT.close()

    assert (NO_DOCUMENT.read(), len(NO_DOCUMENT.share())) == (b"", 0)
