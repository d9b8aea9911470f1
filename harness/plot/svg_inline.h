/*
 * A figure that gnuplot drew, put into a page. A page shows what it is given,
 * so the file is not copied but read: only elements and attributes that draw go
 * through, in elements that are closed again, and nothing that refers outside.
 *
 *   <path id="a"/> <use xlink:href="#a"/>   ->   <path id="f1-a"/> <use href="#f1-a"/>
 *
 * Size, titles, styles, name spaces and names of groups are left out: the page has its own.
 */
#ifndef WP_SVG_INLINE_H
#define WP_SVG_INLINE_H

#include <stddef.h>
#include <stdio.h>

#include "harness/error.h"

/*
 * Writes the drawing in `bytes` as one <svg role="img" aria-label=LABEL>, with `prefix`
 * (letters, digits, "-") before every name, so that several drawings do not mix. 0, or -1 (exit 4)
 * with `file`, line and column of what is no part of a drawing; part of it may be written then.
 */
int wp_svg_inline(FILE *stream, const char *file, const char *bytes, size_t size,
		  const char *prefix, const char *label, struct wp_error *error) WP_MUST_USE;

#endif
