import Link from "next/link";
import all from "../../birds.json";

const birds = all.slice(0, 6);

export default function Birds() {
  return (
    <main>
      <h1>{`${birds.length} birds, listed by next.`}</h1>
      <ul>
        {birds.map(({ slug, name }) => (
          <li key={slug}>
            <Link href={`/birds/${slug}/`}>{name}</Link>
          </li>
        ))}
      </ul>
    </main>
  );
}
