// The charts that the lab takes out of Go modules: ../modules.ts downloads them one by one, and go.sum says what they must be.
module talos-gpu/lab/charts/modules

go 1.24
