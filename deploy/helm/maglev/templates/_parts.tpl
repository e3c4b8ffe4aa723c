{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- /* Parts that several programs have. Each starts with a line break and is indented for its only place. */ -}}

{{- define "maglev.metallb" -}}
{{ .Values.metallbNamespace | default .Release.Namespace }}
{{- end }}

{{- /* list: the whole, the name of the image, what overrides it */ -}}
{{- define "maglev.image" -}}
{{- $image := (index . 0).Values.image -}}
{{- $made := printf "%s:%s" (index . 1) ($image.tag | default (index . 0).Chart.AppVersion) -}}
{{- index . 2 | default (ternary (printf "%s/%s" $image.registry $made) $made (ne $image.registry "")) | quote }}
{{- end }}

{{- define "maglev.pull" -}}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{- /* of a pod */ -}}
{{- define "maglev.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
      imagePullSecrets:
      {{- range . }}
      - name: {{ . }}
      {{- end }}
{{- end }}
{{- end }}

{{- /* where the pods of a program may run */ -}}
{{- define "maglev.placing" -}}
{{- $program := . -}}
{{- range $key := list "priorityClassName" "nodeSelector" "tolerations" "affinity" -}}
{{- with index $program $key }}{{ dict $key . | toYaml | nindent 6 }}{{ end -}}
{{- end -}}
{{- end }}

{{- define "maglev.unprivileged" }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65534
        runAsGroup: 65534
        fsGroup: 65534
        seccompProfile:
          type: RuntimeDefault
{{- end }}

{{- /* a list of capabilities: those that the files of the programs in the images have, too */ -}}
{{- define "maglev.confined" }}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities:
            drop: [ALL]
            {{- with . }}
            add: [{{ join ", " . }}]
            {{- end }}
{{- end }}

{{- /* flags that every program has, and those of the user, which win */ -}}
{{- define "maglev.flags" -}}
{{- with .logLevel }}{{ printf "- --log-level=%s" . | nindent 8 }}{{ end -}}
{{- range .args }}{{ printf "- %s" (quote .) | nindent 8 }}{{ end -}}
{{- end }}

{{- define "maglev.resources" -}}
{{- with .resources }}{{ dict "resources" . | toYaml | nindent 8 }}{{ end -}}
{{- end }}

{{- /* list: the name of the port, whether a failure of /healthz restarts the program */ -}}
{{- define "maglev.probes" -}}
{{- if index . 1 }}
        livenessProbe:
          httpGet:
            path: /healthz
            port: {{ index . 0 }}
{{- end }}
        readinessProbe:
          httpGet:
            path: /readyz
            port: {{ index . 0 }}
{{- end }}

{{- /* dict: kind, role, account, namespace of the account, namespace of the binding */ -}}
{{- define "maglev.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .role }}
  {{- if eq .kind "Role" }}
  namespace: {{ .namespace }}
  {{- end }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .role }}
subjects:
- kind: ServiceAccount
  name: {{ .account }}
  namespace: {{ .namespace }}
{{- end }}

{{- /* dict: account, namespace */ -}}
{{- define "maglev.account" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .account }}
  namespace: {{ .namespace }}
{{- end }}
