// Prints the structures into which Talos decodes documents of a machine configuration: keys and types, by reflection.
// talos-schemas.ts runs it once per release of Talos' machinery. Arguments: kinds of documents; "Config" is the one
// with machine and cluster.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
)

var defs = map[string]map[string]string{}

// typeOf names a type in the notation of components/recipe/facts/talos-schema.ts; types that decode themselves are
// "custom:NAME".
func typeOf(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		return typeOf(t.Elem())
	}

	if t == reflect.TypeFor[time.Duration]() {
		return "duration"
	}

	for _, method := range []string{"UnmarshalYAML", "UnmarshalText"} {
		if _, ok := reflect.PointerTo(t).MethodByName(method); ok && t.Name() != "Unstructured" {
			if t.Kind() == reflect.Slice {
				typeOf(t.Elem())
			}

			return "custom:" + t.String()
		}
	}

	switch t.Kind() {
	case reflect.Struct:
		return structure(t)
	case reflect.Slice, reflect.Array:
		return "[" + typeOf(t.Elem())
	case reflect.Map:
		return "{" + typeOf(t.Elem())
	case reflect.Interface:
		return "any"
	case reflect.Bool:
		return "boolean"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "unsigned"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "integer"
	default:
		return t.Kind().String()
	}
}

func structure(t reflect.Type) string {
	if t.Name() == "Unstructured" {
		return "object"
	}

	name := t.String()
	if defs[name] == nil {
		defs[name] = map[string]string{}
		fields(t, defs[name])
	}

	return "@" + name
}

func fields(t reflect.Type, into map[string]string) {
	for i := range t.NumField() {
		field := t.Field(i)
		key, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")

		switch {
		case slices.Contains(strings.Split(options, ","), "inline"):
			inner := field.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}

			fields(inner, into)
		case key == "-" || !field.IsExported():
		default:
			if key == "" {
				key = strings.ToLower(field.Name)
			}

			into[key] = typeOf(field.Type)
		}
	}
}

func main() {
	kinds := map[string]string{}

	for _, kind := range os.Args[1:] {
		text := "apiVersion: v1alpha1\nkind: " + kind + "\n"
		if kind == "Config" {
			text = "machine: {}\n"
		}

		config, err := configloader.NewFromBytes([]byte(text))
		if err != nil {
			continue // this release has no such kind
		}

		for _, document := range config.Documents() {
			kinds[kind] = strings.TrimPrefix(typeOf(reflect.TypeOf(document)), "@")
		}
	}

	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"kinds": kinds, "defs": defs}); err != nil {
		panic(err)
	}
}
