"""Sites on loopback that are built with the frameworks of today, and what a visitor of each sees.

`expected.py` has the pages of each site, with their sentences, links and states: they are known
before, for all follows from `sources/birds.json`. `built/` has the files that a site serves,
`licences/` the licences of the packages in them, and `SHA256SUMS` the sums of both. `./build` makes
all three again from `sources/`; no file of them is edited by hand.

`hostile/` has pages by which a stranger attacks a browser, each of a few lines; `hostile.py` says
what they do. `serving.py` serves all of it:

    with rendered_web("react", "half") as web:
        page.goto(web["react"].url)
        assert web["react"].counts["/data/birds.json"] == 1
"""
