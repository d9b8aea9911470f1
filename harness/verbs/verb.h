/*
 * The verbs of the command line: one file cmd_VERB.c each, one row in main.c.
 * A verb gets its own argv (argv[0] is "worldpager VERB") and returns one of
 * enum wp_exit. Only verbs print and read options.
 */
#ifndef WP_VERB_H
#define WP_VERB_H

struct argp;

/* argp_parse for a verb: what is wrong with the options ends the program with exit code 2, and
 * so does an empty value or argument, which none of them can use, or any argument to a verb
 * whose args_doc names none. */
void wp_verb_parse(const struct argp *argp, int argc, char **argv, void *input);

int wp_cmd_doctor(int argc, char **argv);
int wp_cmd_trace(int argc, char **argv);
int wp_cmd_trace_import(int argc, char **argv); /* an action of trace */
int wp_cmd_replay(int argc, char **argv);
int wp_cmd_sweep(int argc, char **argv);
int wp_cmd_plot(int argc, char **argv);
int wp_cmd_report(int argc, char **argv);
int wp_cmd_plan(int argc, char **argv);
int wp_cmd_codec_report(int argc, char **argv);
int wp_cmd_threshold(int argc, char **argv);
int wp_cmd_qualify(int argc, char **argv);
int wp_cmd_walls(int argc, char **argv);
int wp_cmd_overlap(int argc, char **argv);
int wp_cmd_compare(int argc, char **argv);
int wp_cmd_calibrate(int argc, char **argv);

#endif
