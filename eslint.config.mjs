import js from "@eslint/js";
import tseslint from "typescript-eslint";
import prose from "./lint/rule.js";

/**
 * Rules that a reviewer would otherwise have to remember. Two of them guard what Pulumi's schema analyzer silently gets
 * wrong: every class property of a component becomes a public output, and an inline tag in a doc comment becomes
 * `[object Object]`.
 */
export default tseslint.config(
  {
    ignores: [
      "examples/typescript/**",
      "**/bin/**",
      "**/node_modules/**",
      "coverage/**",
      "sdk/schema.json",
      "docs/.vitepress/**",
    ],
  },
  js.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked,
  {
    // Comments, messages and names of tests; `npm run prose` reads all other files.
    plugins: { prose },
    rules: { "prose/plain-words": "error" },
  },
  // Their examples are wrong on purpose.
  { files: ["lint/words.js", "tests/lint/**"], rules: { "prose/plain-words": "off" } },
  {
    languageOptions: {
      parserOptions: {
        // One program for all files but policy's, whose tsconfig.json the root's does not include. `projectService`
        // takes the nearest tsconfig.json of each file: five programs, and the same types parsed and checked in each.
        project: ["./tsconfig.json", "./policy/tsconfig.json"],
        jsDocParsingMode: "none", // no rule here reads types from doc comments
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
      "@typescript-eslint/no-explicit-any": "off", // chart values are open by nature, and the analyzer knows `any` but not `unknown`
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-return": "off",
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true },
      ],
      "@typescript-eslint/no-unused-vars": [
        "error",
        { argsIgnorePattern: "^_", varsIgnorePattern: "^_" },
      ],
      eqeqeq: ["error", "always"],
      "@typescript-eslint/require-await": "off", // an async method without await is how an interface turns a throw into a rejection
    },
  },
  {
    files: ["components/**/*.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector:
            "ClassDeclaration[superClass.property.name='ComponentResource'] PropertyDefinition:not([accessibility='public'])",
          message:
            "a component holds nothing but public outputs: the analyzer publishes every property (use constructor locals)",
        },
        {
          selector:
            "ClassDeclaration[superClass.property.name='ComponentResource'] TSParameterProperty",
          message: "a parameter property would become an output of the component",
        },
      ],
    },
  },
  {
    // A message with a value that is not there would say "undefined".
    files: ["components/**/*.ts", "cli/**/*.ts"],
    rules: {
      "@typescript-eslint/restrict-template-expressions": [
        "error",
        {
          allowNumber: true,
          allowBoolean: false,
          allowAny: false,
          allowNullish: false,
          allowRegExp: false,
        },
      ],
    },
  },
  {
    files: ["tests/**/*.ts", "lab/**/*.ts"],
    rules: { "@typescript-eslint/unbound-method": "off" },
  },
  {
    files: ["**/*.js", "**/*.mjs"],
    ...tseslint.configs.disableTypeChecked,
    languageOptions: {
      parserOptions: { project: null },
      globals: {
        module: "writable",
        require: "readonly",
        process: "readonly",
        setTimeout: "readonly",
        __dirname: "readonly",
        __filename: "readonly",
      },
    },
    rules: {
      ...tseslint.configs.disableTypeChecked.rules,
      "@typescript-eslint/no-require-imports": "off",
    },
  },
);
