"use client";
import Link from "next/link";
import { useEffect, useState } from "react";

export default function Live() {
  const [list, setList] = useState(null);
  useEffect(() => {
    fetch("/data/birds.json")
      .then((answer) => answer.json())
      .then(setList);
  }, []);
  if (!list) return <p>Loading</p>;
  return (
    <main>
      <h1>{`${list.birds.length} live birds, listed by next.`}</h1>
      <ul>
        {list.birds.map(({ slug, name }) => (
          <li key={slug}>
            <Link href={`/live/${slug}/`}>{name}</Link>
          </li>
        ))}
      </ul>
    </main>
  );
}
