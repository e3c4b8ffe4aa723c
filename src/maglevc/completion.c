/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/completion.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "src/maglevc/complete.h"

/*
 * The scripts read the answer line by line. bash needs the most work: it splits the line at the
 * characters in COMP_WORDBREAKS, so the part of the word up to the last : or = has to be removed
 * from each candidate; and it does not quote candidates itself.
 */
static const struct {
	const char *shell, *script;
} scripts[] = {
	{ "bash", "# bash completion for maglevc\n"
		  "_maglevc() {\n"
		  "\tlocal line=${COMP_LINE:0:COMP_POINT} word=${COMP_WORDS[COMP_CWORD]} answer "
		  "typed= head=\n"
		  "\tlocal last='([^[:space:]\\\\]|\\\\.)*$' breaks=${COMP_WORDBREAKS//[^:=]/}\n"
		  "\t# bash begins a word behind : and =, which are a part of ours\n"
		  "\t[[ $line =~ $last ]] && typed=${BASH_REMATCH[0]}\n"
		  "\t[[ $breaks && $typed == *[$breaks]* && $typed != *[\\\"\\']* ]] &&\n"
		  "\t\thead=${typed%\"${typed##*[$breaks]}\"}\n"
		  "\tCOMPREPLY=()\n"
		  "\twhile IFS= read -r answer; do\n"
		  "\t\tanswer=${answer%%$'\\t'*}\n"
		  "\t\tif [[ ! $answer ]]; then\n"
		  "\t\t\tcompopt -o default\n"
		  "\t\t\treturn\n"
		  "\t\tfi\n"
		  "\t\t[[ $word == [\\\"\\']* ]] || printf -v answer %q \"$answer\"\n"
		  "\t\tCOMPREPLY+=(\"${answer#\"$head\"}\")\n"
		  "\tdone < <(\"${COMP_WORDS[0]}\" __complete \"$line\" 2>/dev/null)\n"
		  "}\n"
		  "complete -F _maglevc maglevc\n" },
	{ "zsh", "#compdef maglevc\n"
		 "_maglevc() {\n"
		 "\tlocal answer file\n"
		 "\tlocal -a described plain\n"
		 "\twhile IFS= read -r answer; do\n"
		 "\t\tif [[ $answer == $'\\t'* ]]; then\n"
		 "\t\t\tfile=1\n"
		 "\t\telif [[ $answer == *$'\\t'?* ]]; then\n"
		 "\t\t\tdescribed+=(\"${${answer%%$'\\t'*}//:/\\\\:}:${answer#*$'\\t'}\")\n"
		 "\t\telse\n"
		 "\t\t\tplain+=(\"${answer%%$'\\t'*}\")\n"
		 "\t\tfi\n"
		 "\tdone < <(\"${words[1]}\" __complete \"${(j: :)words[1,CURRENT-1]} "
		 "$QIPREFIX$PREFIX\" 2>/dev/null)\n"
		 "\tif [[ $file ]]; then\n"
		 "\t\tcompset -P '-[^=]##='\n"
		 "\t\t_files\n"
		 "\t\treturn\n"
		 "\tfi\n"
		 "\t(( $#described )) && _describe maglevc described\n"
		 "\t(( $#plain )) && compadd -a plain\n"
		 "}\n"
		 "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
		 "\t_maglevc \"$@\"\n"
		 "else\n"
		 "\tcompdef _maglevc maglevc\n"
		 "fi\n" },
	{ "fish",
	  "# fish completion for maglevc\n"
	  "function __maglevc_complete\n"
	  "\tset -l words (commandline -opc)\n"
	  "\tset -l answers ($words[1] __complete (commandline -cp | string collect) 2>/dev/null)\n"
	  "\tif test \"$answers\" = \\tfile\n"
	  "\t\tset -l token (commandline -ct)\n"
	  "\t\tset -l flag (string match -r -- '^-[^=]*=' $token)\n"
	  "\t\tprintf '%s\\n' \"$flag\"(__fish_complete_path (string replace -r -- '^-[^=]*=' '' "
	  "$token))\n"
	  "\telse\n"
	  "\t\tprintf '%s\\n' $answers\n"
	  "\tend\n"
	  "end\n"
	  "complete -c maglevc -f -a '(__maglevc_complete)'\n" },
};

int completion_write(const char *shell, struct buf *out)
{
	assert(shell && out);

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
		if (strcmp(scripts[i].shell, shell) == 0) {
			buf_adds(out, scripts[i].script);
			return 0;
		}
	return -EINVAL;
}

void completion_complete(const struct typing *t, struct candidates *out)
{
	assert(t && out);

	if (t->n == 0 && str_starts(STR("completion"), str_of(t->begin)))
		candidates_add(out, "completion", "what makes another shell complete maglevc");
	if (t->n != 1 || strcmp(t->words[0], "completion") != 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
		if (str_starts(str_of(scripts[i].shell), str_of(t->begin)))
			candidates_add(out, scripts[i].shell, "");
}
