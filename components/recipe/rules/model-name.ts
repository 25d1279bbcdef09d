/**
 * Mistake of a text that is not the name of an ollama model; undefined if it is one: `[host/][namespace/]model[:tag]`.
 * Source: ollama v0.12.0, types/model/name.go (ParseNameBare, isValidPart, isValidLen).
 */
export function ollamaModelProblem(text: string): string | undefined {
  if (text.length > 600) return "is too long for the name of a model";
  const name = text.replace(/^https?:\/\//, "");
  if (/\s/.test(name)) return "contains white space";
  const slash = name.lastIndexOf("/");
  const [model = "", tag, ...otherParts] = name.slice(slash + 1).split(":");
  const parents = slash < 0 ? [] : name.slice(0, slash).split("/");
  const part = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}$/;
  const isModelValid =
    otherParts.length === 0 && part.test(model) && (tag === undefined || part.test(tag));
  // A single parent may also be a host.
  const isNamespaceValid =
    parents.length < 2 || /^[A-Za-z0-9_][A-Za-z0-9_-]{0,79}$/.test(parents.at(-1)!);
  const areParentsValid =
    parents.length <= 2 &&
    parents.every((host) => /^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,349}$/.test(host));
  return isModelValid && isNamespaceValid && areParentsValid
    ? undefined
    : "is not the name of a model";
}

/**
 * Mistake of a name under which vLLM cannot load a model; undefined if it may be right. The function does not check
 * paths of folders and URLs of object stores. Source: huggingface_hub v0.34, utils/_validators.py (validate_repo_id).
 */
export function vllmModelProblem(text: string): string | undefined {
  if (text.length > 512) return "is too long for the name of a model";
  if (text.startsWith("-")) return "begins like an option";
  if (/\s/.test(text)) return "contains white space";
  if (/^https?:/i.test(text)) return "is the URL of a web page";
  if (/^[.~]?\//.test(text) || /^[a-z0-9]+:\/\//.test(text)) return undefined;
  const [repository = ""] = text.split(":");
  const parts = repository.split("/");
  const isFile = parts.length > 2 && /\.gguf$/i.test(repository);
  if (parts.length > 2 && !isFile)
    return "has more parts than the name of a Hugging Face repository";
  const id = isFile ? parts.slice(0, 2).join("/") : repository;
  const isValid =
    id.length <= 96 &&
    !/--|\.\.|\.git$/.test(id) &&
    parts.every((part) => /^[A-Za-z0-9_](?:[-A-Za-z0-9_.]*[A-Za-z0-9_])?$/.test(part));
  return isValid ? undefined : "is not the name of a Hugging Face repository";
}
