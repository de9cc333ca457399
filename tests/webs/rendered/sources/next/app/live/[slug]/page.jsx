import all from "../../../../birds.json";
import Bird from "./bird";

export const dynamicParams = false;

export function generateStaticParams() {
  return all.slice(6, 12).map(({ slug }) => ({ slug }));
}

export default function Page() {
  return <Bird />;
}
