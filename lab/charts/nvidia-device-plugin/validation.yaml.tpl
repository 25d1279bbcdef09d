{{- if .Values.namespace }}
{{- fail (printf "Value 'namespace' set to %s: it is no longer supported, use --namespace" .Values.namespace) }}
{{- end }}
{{- if and (eq (include "plugin.namespace" .) "default") (not .Values.allowDefaultNamespace) }}
{{- fail "Running in the 'default' namespace is not recommended.\nSet 'allowDefaultNamespace=true' to bypass this error." }}
{{- end }}
{{- if and .Values.config.name .Values.config.map }}
{{- fail "Only one of 'config.name' or 'config.map' should ever be set for a given deployment." }}
{{- end }}
{{- with .Values.config.map }}
{{- $config := $.Values.config }}
{{- $named := and (has "named" $config.fallbackStrategies) (hasKey . "default") }}
{{- $single := and (has "single" $config.fallbackStrategies) (eq (len .) 1) }}
{{- if not (or $config.default $named $single (has "empty" $config.fallbackStrategies)) }}
{{- fail "A default config must be provided when more than one configuration is set in 'config.map'." }}
{{- end }}
{{- end }}
