/** @jsxImportSource preact */
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";

function Bird({ slug }) {
  const [bird, setBird] = useState(null);
  useEffect(() => {
    fetch(`/data/${slug}.json`)
      .then((answer) => answer.json())
      .then(setBird);
  }, [slug]);
  if (!bird) return <p>Loading</p>;
  return (
    <main>
      <p>{`${bird.name}, shown by half: ${bird.text}.`}</p>
      <a href="/">Birds</a> <a href={`/shop/${bird.next}`}>Next</a>
    </main>
  );
}

const slug = location.pathname.split("/shop/")[1];
render(<Bird slug={slug} />, document.getElementById("root"));
