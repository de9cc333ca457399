/** @jsxImportSource preact */
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

async function read(name) {
  const answer = await fetch(`/data/${name}.json`);
  return answer.json();
}

function Birds() {
  const [list, setList] = useState({ birds: [], next: 1 });
  const end = useRef(null);
  useEffect(() => {
    if (!list.next) return undefined;
    const observer = new IntersectionObserver(async ([entry]) => {
      if (!entry.isIntersecting) return;
      observer.disconnect();
      const part = await read(`birds-${list.next}`);
      setList({ birds: [...list.birds, ...part.birds], next: part.next });
    });
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [list]);
  return (
    <main>
      <h1>{`${list.birds.length} birds, listed by scroll.`}</h1>
      {list.birds.map(({ slug, name }) => (
        <p key={slug} style="height: 60vh">
          <a href={`/birds/${slug}`}>{name}</a>
        </p>
      ))}
      <div ref={end}>End</div>
    </main>
  );
}

function Bird({ slug }) {
  const [bird, setBird] = useState(null);
  useEffect(() => void read(slug).then(setBird), [slug]);
  if (!bird) return <p>Loading</p>;
  return (
    <main>
      <p>{`${bird.name}, shown by scroll: ${bird.text}.`}</p>
      <a href={`/birds/${bird.next}`}>Next</a>
    </main>
  );
}

const slug = location.pathname.split("/birds/")[1];
render(
  <>
    <nav>
      <a href="/">Birds</a>
    </nav>
    {slug ? <Bird slug={slug} /> : <Birds />}
  </>,
  document.getElementById("root"),
);
