"use client";
import Link from "next/link";
import { useParams } from "next/navigation";
import { useEffect, useState } from "react";

export default function Bird() {
  const { slug } = useParams();
  const [bird, setBird] = useState(null);
  useEffect(() => {
    fetch(`/data/${slug}.json`)
      .then((answer) => answer.json())
      .then(setBird);
  }, [slug]);
  if (!bird) return <p>Loading</p>;
  return (
    <main>
      <h1>{bird.name}</h1>
      <p>{`${bird.name}, shown by next: ${bird.text}.`}</p>
      <Link href={`/live/${bird.next}/`}>Next</Link>
    </main>
  );
}
