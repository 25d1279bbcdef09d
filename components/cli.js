#!/usr/bin/env node
// In git, so that npm finds it before anything is built, and links the command: `npx talos-gpu` works in a clone as in a user's folder.
require("./bin/cli.js");
