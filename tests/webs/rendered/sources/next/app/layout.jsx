import Link from "next/link";

export const metadata = { title: "Birds (next)", icons: "data:," };

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>
        <nav>
          <Link href="/">Birds</Link> <Link href="/live/">Live</Link>
        </nav>
        {children}
      </body>
    </html>
  );
}
