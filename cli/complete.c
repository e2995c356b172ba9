/* SPDX-License-Identifier: MIT
 * complete.c - prints the table of options.def as completion scripts for bash, zsh and fish. */
#include "cli.h"

#include <string.h>

/* Prints the possible values of an option, separated by sep; nothing if any text is allowed. */
static void put_values(FILE *f, const option_row *row, const char *sep)
{
    choice_list split;
    const char *const *names = row->kind == CHOICES   ? choices_split(&split, row->argument)
                               : row->kind == DTYPES  ? dtype_names()
                               : row->kind == DEVICES ? device_names()
                               : row->kind == ISAS    ? isa_names()
                                                      : NULL;
    for (int i = 0; names && names[i]; i++) fprintf(f, "%s%s", i ? sep : "", names[i]);
}

static void put_operators(FILE *f)
{
    for (const char *const *name = tally_operators(); *name; name++)
        fprintf(f, "%s%s", name == tally_operators() ? "" : " ", *name);
}

static int takes_operator(int v) { return v <= VERB_window || v == VERB_ops; }
static int takes_word(int v) { return v == VERB_fragment || v == VERB_ladder; }

/* Prints the words of which the first operand is one, such as `make` and `merge` of `fragment`. */
static void put_words(FILE *f, int v)
{
    int begins = 1;
    for (const char *at = verb_table[v].operands; *at;) {
        const size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz");
        if (length && begins) fprintf(f, "%.*s ", (int)length, at);
        begins = !length && (*at == '[' || *at == '|' || (begins && *at == ' '));
        at += length ? length : 1;
    }
}

static void bash(FILE *f)
{
    fputs("# tally completion for bash, written by `tally help --completion bash`\n_tally()\n{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} "
          "verb=${COMP_WORDS[1]}\n    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"",
          f);
    for (int v = 0; v < VERB_COUNT; v++) fprintf(f, "%s ", verb_table[v].name);
    fputs("--help --version\" -- \"$cur\"))\n        return\n    fi\n    case $prev in\n", f);
    for (int i = 0; i < OPT_COUNT; i++) {
        const option_row *const row = &option_table[i];
        if (!row->argument[0]) continue;
        fprintf(f, "    --%s", row->name);
        if (row->letter) fprintf(f, "|-%c", row->letter);
        if (row->kind == FILES)
            fputs(") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", f);
        else if (row->kind == NONE)
            fputs(") return ;;\n", f);
        else {
            fputs(") COMPREPLY=($(compgen -W \"", f);
            put_values(f, row, " ");
            fputs("\" -- \"$cur\")); return ;;\n", f);
        }
    }
    fputs("    esac\n    case $verb in\n", f);
    for (int v = 0; v < VERB_COUNT; v++) {
        fprintf(f, "    %s)\n        case $cur in\n        -*) COMPREPLY=($(compgen -W \"",
                verb_table[v].name);
        for (int i = 0; i < OPT_COUNT; i++)
            if (option_table[i].verbs >> v & 1) fprintf(f, "--%s ", option_table[i].name);
        fputs("\" -- \"$cur\")) ;;\n", f);
        if (takes_operator(v)) { /* completes the operator after the last comma */
            fputs("        *) if [ \"$COMP_CWORD\" -eq 2 ]; then\n"
                  "            local list=; case $cur in *,*) list=${cur%,*}, ;; esac\n"
                  "            COMPREPLY=($(compgen -P \"$list\" -W \"",
                  f);
            put_operators(f);
            fputs("\" -- \"${cur##*,}\")); else COMPREPLY=($(compgen -f -- \"$cur\")); fi ;;\n", f);
        } else if (takes_word(v)) {
            fputs("        *) COMPREPLY=($(compgen -f -- \"$cur\"))\n"
                  "            [ \"$COMP_CWORD\" -ne 2 ] || COMPREPLY=($(compgen -W \"",
                  f);
            put_words(f, v);
            fputs("\" -- \"$cur\")) ;;\n", f);
        } else if (v == VERB_help) {
            fputs("        *) COMPREPLY=($(compgen -W \"", f);
            for (int w = 0; w < VERB_COUNT; w++) fprintf(f, "%s ", verb_table[w].name);
            fputs("\" -- \"$cur\")) ;;\n", f);
        }
        fputs("        esac ;;\n", f);
    }
    fputs("    esac\n}\ncomplete -o filenames -F _tally tally\n", f);
}

/* Prints text for zsh and fish, with brackets, colons and quotes escaped. */
static void put_quoted(FILE *f, const char *text, const char *hurt)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", f);
        else {
            if (strchr(hurt, *text)) fputc('\\', f);
            fputc(*text, f);
        }
    }
}

static void zsh_option(FILE *f, const option_row *row)
{
    const char *const equals = row->argument[0] ? "=" : "";
    fprintf(f, "        '--%s%s[", row->name, equals);
    put_quoted(f, row->text, "[]:");
    fputc(']', f);
    if (row->argument[0]) {
        fputs(":value:", f);
        if (row->kind == FILES)
            fputs("_files", f);
        else if (row->kind != NONE) {
            fputc('(', f);
            put_values(f, row, " ");
            fputc(')', f);
        }
    }
    fputs("' \\\n", f);
    if (!row->letter) return;
    fprintf(f, "        '-%c%s[", row->letter, row->argument[0] ? "+" : "");
    put_quoted(f, row->text, "[]:");
    fprintf(f, "]%s%s' \\\n", row->argument[0] ? ":value:" : "",
            row->kind == FILES ? "_files" : "");
}

static void zsh(FILE *f)
{
    fputs("#compdef tally\n# tally completion for zsh, written by `tally help --completion "
          "zsh`\n_tally() {\n"
          "    if (( CURRENT == 2 )); then\n        local -a verbs\n        verbs=(\n",
          f);
    for (int v = 0; v < VERB_COUNT; v++) {
        fprintf(f, "            '%s:", verb_table[v].name);
        put_quoted(f, verb_table[v].summary, ":");
        fputs("'\n", f);
    }
    fputs("        )\n        _describe 'verb' verbs\n        return\n    fi\n    local "
          "verb=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
          "    case $verb in\n",
          f);
    for (int v = 0; v < VERB_COUNT; v++) {
        fprintf(f, "    %s) _arguments \\\n", verb_table[v].name);
        for (int i = 0; i < OPT_COUNT; i++)
            if (option_table[i].verbs >> v & 1) zsh_option(f, &option_table[i]);
        if (takes_operator(v)) {
            fputs("        '1:operator:_sequence compadd - ", f);
            put_operators(f);
            fputs("' \\\n", f);
        }
        if (takes_word(v)) {
            fputs("        '1:word:(", f);
            put_words(f, v);
            fputs(")' \\\n", f);
        }
        fputs("        '*:file:_files' ;;\n", f);
    }
    fputs("    esac\n}\nif [ \"$funcstack[1]\" = _tally ]; then _tally \"$@\"; else compdef _tally "
          "tally; fi\n",
          f);
}

static void fish(FILE *f)
{
    fputs("# tally completion for fish, written by `tally help --completion fish`\n"
          "function __tally_operators\n    printf '%s\\n' ",
          f);
    put_operators(f);
    fputs("\nend\n", f);
    for (int v = 0; v < VERB_COUNT; v++) {
        fprintf(f, "complete -c tally -f -n __fish_use_subcommand -a %s -d '", verb_table[v].name);
        put_quoted(f, verb_table[v].summary, "");
        fputs("'\n", f);
    }
    for (int v = 0; v < VERB_COUNT; v++) {
        const char *const verb = verb_table[v].name;
        for (int i = 0; i < OPT_COUNT; i++) {
            const option_row *const row = &option_table[i];
            if (!(row->verbs >> v & 1)) continue;
            fprintf(f, "complete -c tally -n '__fish_seen_subcommand_from %s' -l %s", verb,
                    row->name);
            if (row->letter) fprintf(f, " -s %c", row->letter);
            if (row->kind == FILES)
                fputs(" -r -F", f);
            else if (row->argument[0]) {
                fputs(" -x", f);
                if (row->kind != NONE) {
                    fputs(" -a '", f);
                    put_values(f, row, " ");
                    fputs("'", f);
                }
            }
            fputs(" -d '", f);
            put_quoted(f, row->text, "");
            fputs("'\n", f);
        }
        if (takes_word(v)) {
            fprintf(f, "complete -c tally -n '__fish_seen_subcommand_from %s' -a '", verb);
            put_words(f, v);
            fputs("'\n", f);
        }
        if (!takes_operator(v)) continue;
        fprintf(f,
                "complete -c tally -n '__fish_seen_subcommand_from %s' -a '(__fish_complete_list , "
                "__tally_operators)'\n",
                verb);
    }
}

void help_completion(FILE *f, const char *shell)
{
    static const struct {
        const char *name;
        void (*write)(FILE *);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shells[i].name, shell) == 0) shells[i].write(f);
}
