import { words } from "../inputs";

/** Texts that name no image. */
export const badImages = [
  ...words("Ollama/Ollama ollama/Ollama:latest ollama: :latest ollama/ollama:a:b"),
  "ollama ollama",
  ...words("https://docker.io/ollama/ollama ollama/ollama@sha256:abc ollama/ollama@md5:0123 a@b@c"),
  ...words("/ollama ollama/ a//b -a/b a/-b a/b_ a/b:-x registry.lan:99999/a registry.lan:port/a"),
  ...words("oci://registry/a $(id) a;b"),
  "a\nb",
  `a:${"t".repeat(129)}`,
  "docker.io/UPPER/case",
];
