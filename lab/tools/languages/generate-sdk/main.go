// Command generate-sdk writes the SDK of a package for one language. It calls the generators that Pulumi's language
// hosts call for `pulumi package gen-sdk` (pulumi/pulumi v3.259.0, pkg/codegen). The hosts of Node, Python and Go are
// in no package registry.
//
//	generate-sdk nodejs|python|go SCHEMA FOLDER
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	gogen "github.com/pulumi/pulumi/pkg/v3/codegen/go"
	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/python"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "generate-sdk nodejs|python|go SCHEMA FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(language, schemaFile, folder string) error {
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		return err
	}
	var spec schema.PackageSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return err
	}
	// The schema has no types of other packages, so the loader loads nothing.
	loader := schema.NewPluginLoader(nil)
	pkg, diagnostics, err := schema.BindSpec(spec, loader, schema.ValidationOptions{})
	if err != nil {
		return err
	}
	if diagnostics.HasErrors() {
		return diagnostics
	}
	files, err := generate(language, pkg, loader)
	if err != nil {
		return err
	}
	for name, content := range files {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func generate(language string, pkg *schema.Package, loader schema.ReferenceLoader) (map[string][]byte, error) {
	const tool = "generate-sdk"
	switch language {
	case "nodejs":
		return nodejs.GeneratePackage(tool, pkg, nil, nil, true, loader)
	case "python":
		return python.GeneratePackage(tool, pkg, nil, loader)
	case "go":
		return gogen.GeneratePackage(tool, pkg, nil)
	}
	return nil, fmt.Errorf("%s: take nodejs, python or go", language)
}
