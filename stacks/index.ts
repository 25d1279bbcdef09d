import { stack } from "talos-gpu/stack.js";

// The program of every stack here, as in a folder of a user's own: a stack is its file, `Pulumi.<stack>.yaml`.
export = stack;
