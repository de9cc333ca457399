import Link from "next/link";
import all from "../../../../birds.json";

const birds = all.slice(0, 6);

export const dynamicParams = false;

export function generateStaticParams() {
  return birds.map(({ slug }) => ({ slug }));
}

export default async function Bird({ params }) {
  const { slug } = await params;
  const at = birds.findIndex((bird) => bird.slug === slug);
  const { name, text } = birds[at];
  return (
    <main>
      <h1>{name}</h1>
      <p>{`${name}, shown by next: ${text}.`}</p>
      <Link href={`/birds/${birds[(at + 1) % birds.length].slug}/`}>Next</Link>
    </main>
  );
}
