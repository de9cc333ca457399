import { fileURLToPath } from "node:url";

export default {
  output: "export",
  trailingSlash: true,
  generateBuildId: () => "birds",
  turbopack: { root: fileURLToPath(new URL("..", import.meta.url)) },
};
