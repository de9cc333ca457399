import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter, Link, Route, Routes, useParams } from "react-router";

function useData(name) {
  const [data, setData] = useState(null);
  useEffect(() => {
    setData(null);
    fetch(`/data/${name}.json`)
      .then((answer) => answer.json())
      .then(setData);
  }, [name]);
  return data;
}

function Birds() {
  const list = useData("birds");
  if (!list) return <p>Loading</p>;
  return (
    <main>
      <h1>{`${list.birds.length} birds, listed by react.`}</h1>
      <ul>
        {list.birds.map(({ slug, name }) => (
          <li key={slug}>
            <Link to={`/birds/${slug}`}>{name}</Link>
          </li>
        ))}
      </ul>
    </main>
  );
}

function Bird() {
  const bird = useData(useParams().slug);
  if (!bird) return <p>Loading</p>;
  return (
    <main>
      <h1>{bird.name}</h1>
      <p>{`${bird.name}, shown by react: ${bird.text}.`}</p>
      <Link to={`/birds/${bird.next}`}>Next</Link>
    </main>
  );
}

function About() {
  return <p>{`Some ${"birds"}, explained by react.`}</p>;
}

createRoot(document.getElementById("root")).render(
  <BrowserRouter>
    <nav>
      <Link to="/">Birds</Link> <Link to="/about">About</Link>
    </nav>
    <Routes>
      <Route path="/" element={<Birds />} />
      <Route path="/about" element={<About />} />
      <Route path="/birds/:slug" element={<Bird />} />
    </Routes>
  </BrowserRouter>,
);
