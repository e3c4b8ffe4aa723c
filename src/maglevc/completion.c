/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/completion.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

static const struct {
	const char *shell, *script;
} scripts[] = {
	{ "bash",
	  "# bash completion for maglevc\n"
	  "_maglevc() {\n"
	  "\tlocal cur=${COMP_WORDS[COMP_CWORD]} words cword line\n"
	  "\t# a : is a part of our words, though bash takes it for a word of its own\n"
	  "\tif declare -F _get_comp_words_by_ref >/dev/null; then\n"
	  "\t\t_get_comp_words_by_ref -n := cur words cword\n"
	  "\telse\n"
	  "\t\twords=(\"${COMP_WORDS[@]}\") cword=$COMP_CWORD\n"
	  "\tfi\n"
	  "\tCOMPREPLY=()\n"
	  "\twhile IFS= read -r line; do\n"
	  "\t\tline=${line%%$'\\t'*}\n"
	  "\t\t[[ $cur == [\\\"\\']* ]] || printf -v line %q \"$line\"\n"
	  "\t\tCOMPREPLY+=(\"$line\")\n"
	  "\tdone < <(\"${words[0]}\" __complete \"${words[@]:1:cword-1}\" \"$cur\" 2>/dev/null)\n"
	  "\tif declare -F __ltrim_colon_completions >/dev/null; then\n"
	  "\t\t__ltrim_colon_completions \"$cur\"\n"
	  "\tfi\n"
	  "}\n"
	  "complete -o default -F _maglevc maglevc\n" },
	{ "zsh", "#compdef maglevc\n"
		 "_maglevc() {\n"
		 "\tlocal line\n"
		 "\tlocal -a described plain\n"
		 "\twhile IFS= read -r line; do\n"
		 "\t\tif [[ $line == *$'\\t'?* ]]; then\n"
		 "\t\t\tdescribed+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\")\n"
		 "\t\telse\n"
		 "\t\t\tplain+=(\"${line%%$'\\t'*}\")\n"
		 "\t\tfi\n"
		 "\tdone < <(\"${words[1]}\" __complete \"${(@Q)words[2,CURRENT-1]}\" "
		 "\"${(Q)words[CURRENT]}\" 2>/dev/null)\n"
		 "\t(( $#described )) && _describe maglevc described\n"
		 "\t(( $#plain )) && compadd -a plain\n"
		 "\t(( $#described + $#plain )) || _files\n"
		 "}\n"
		 "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
		 "\t_maglevc \"$@\"\n"
		 "else\n"
		 "\tcompdef _maglevc maglevc\n"
		 "fi\n" },
	{ "fish", "# fish completion for maglevc\n"
		  "function __maglevc_complete\n"
		  "\tset -l words (commandline -opc)\n"
		  "\t$words[1] __complete $words[2..-1] (commandline -ct) 2>/dev/null\n"
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
