/* SPDX-License-Identifier: MIT
 * The figures of a page as files of their own: SVG with its style inside, on white, in the light
 * colours, for documents and slides.
 *
 * They are taken from the finished page, so a picture is what the page shows. Custom properties of
 * the style become their values, since few programs but browsers know them; links are left out.
 *
 * Invariant: no byte of a run stands in a page as markup (svg.h), so the tags looked for here are
 * the page's own.
 * Read next: page.c. */
#include <stdio.h>
#include <string.h>

#include "page.h"

/* A stretch of the page. */
typedef struct piece {
    const char *begin, *end;
} piece;

/* From behind `open` up to `close`, within `in`. begin is NULL where there is none. */
static piece between(piece in, const char *open, const char *close)
{
    piece none = {NULL, NULL};
    const char *begin = in.begin ? strstr(in.begin, open) : NULL;
    if (!begin || begin >= in.end) return none;
    begin += strlen(open);
    const char *end = strstr(begin, close);
    return end && end <= in.end ? (piece){begin, end} : none;
}

static bool starts_with(const char *text, const char *start)
{
    return !strncmp(text, start, strlen(start));
}

/* ---- style ----------------------------------------------------------------------------------- */

/* The value of "--name" where the style first sets it: that is the light one. */
static piece property(piece style, piece name)
{
    char set[64];
    snprintf(set, sizeof set, "%.*s:", (int)(name.end - name.begin), name.begin);
    piece value = between(style, set, ";");
    while (value.begin && *value.begin == ' ') value.begin++;
    return value;
}

/* A stretch of the style, each var(--name) replaced by its value. */
static void add_resolved(rdk_text *t, piece style, piece part)
{
    static const char var[] = "var(";
    for (const char *p = part.begin; p < part.end;) {
        if (!starts_with(p, var)) {
            rdk_text_bytes(t, p++, 1);
            continue;
        }
        piece name = between((piece){p, part.end}, var, ")"), value = {NULL, NULL};
        if (name.begin) value = property(style, name);
        if (!value.begin) {
            rdk_text_bytes(t, p++, 1);
            continue;
        }
        rdk_text_bytes(t, value.begin, (size_t)(value.end - value.begin));
        p = name.end + 1;
    }
}

/* The rules about what is inside a figure: each stands on a line that begins with "svg ". */
static void add_style(rdk_text *t, piece style)
{
    rdk_text_add(t, "<style>\nsvg { font: 11px system-ui, -apple-system, \"Segoe UI\", Roboto, "
                    "\"Helvetica Neue\", Arial, sans-serif; }\n");
    for (const char *line = style.begin; line < style.end;) {
        const char *end = strchr(line, '\n');
        if (!end || end > style.end) end = style.end;
        if (starts_with(line, "svg ") && line[4] != '{')
            add_resolved(t, style, (piece){line, end + (end < style.end)});
        line = end + 1;
    }
    rdk_text_add(t, "</style>\n");
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* What is drawn, without the links to definitions, which are not there. */
static void add_drawing(rdk_text *t, piece drawing)
{
    for (const char *p = drawing.begin; p < drawing.end;) {
        if (starts_with(p, "<a ") || starts_with(p, "</a>"))
            p = strchr(p, '>') + 1;
        else
            rdk_text_bytes(t, p++, 1);
    }
}

/* figure: from "<figure ...>" to "</figure>". */
static void add_picture(rdk_text *t, piece style, piece figure)
{
    static const char back[] = "--back";
    piece size = between(figure, "viewBox=\"0 0 ", "\""), says, drawing;
    piece paper = property(style, (piece){back, back + strlen(back)});
    const char *gap = size.begin ? strchr(size.begin, ' ') : NULL;
    says = between(figure, "aria-label=\"", "\"");
    if (!gap || gap > size.end || !says.begin || !paper.begin) return;
    drawing = between((piece){says.end, figure.end}, ">\n", "</svg>"); /* behind the <svg> tag */
    if (!drawing.begin) return;
    int width = (int)(gap - size.begin), height = (int)(size.end - gap - 1);
    rdk_text_add(t,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.*s\" height=\"%.*s\" "
                 "viewBox=\"0 0 %.*s %.*s\" role=\"img\" aria-label=\"%.*s\">\n",
                 width, size.begin, height, gap + 1, width, size.begin, height, gap + 1,
                 (int)(says.end - says.begin), says.begin);
    add_style(t, style);
    rdk_text_add(t, "<rect width=\"%.*s\" height=\"%.*s\" fill=\"%.*s\"/>\n", width, size.begin,
                 height, gap + 1, (int)(paper.end - paper.begin), paper.begin);
    add_drawing(t, drawing);
    rdk_text_add(t, "</svg>\n");
}

/* DIR/loss.svg of fig-loss; of a page in groups DIR/g2-loss.svg of g2-fig-loss. */
static bool picture_path(char path[RDK_PATH_TEXT], const char *directory, piece id)
{
    static const char mark[] = "fig-";
    const char *at = id.begin ? strstr(id.begin, mark) : NULL;
    if (!at || at >= id.end) return false;
    const char *name = at + strlen(mark);
    int group = (int)(at - id.begin), rest = (int)(id.end - name);
    return snprintf(path, RDK_PATH_TEXT, "%s/%.*s%.*s.svg", directory, group, id.begin, rest,
                    name) < RDK_PATH_TEXT;
}

bool rdk_report_pictures(const char *page, const char *directory, rdk_status *s)
{
    size_t size;
    char *text = rdk_file_read(page, &size, s), path[RDK_PATH_TEXT];
    if (!text) return false;
    piece all = {text, text + size};
    piece style = between(all, "<style id=\"style\">\n", "</style>");
    piece rest = between(all, "<main>\n", "</main>");
    if (!style.begin || !rest.begin)
        rdk_fail(s, RDK_EFORMAT, "%s is no page of report", page);
    else
        rdk_directory_make(directory, s);
    while (rdk_ok(s)) {
        piece figure = between(rest, "<figure id=\"", "</figure>"), id;
        if (!figure.begin) break;
        rest.begin = figure.end;
        id = between(figure, "", "\"");
        rdk_text picture = {0};
        add_picture(&picture, style, figure);
        if (!picture_path(path, directory, id))
            rdk_fail(s, RDK_EVALUE, "the name of the directory %s is too long", directory);
        else if (rdk_text_ok(&picture, s) && picture.size)
            rdk_file_replace(path, picture.data, picture.size, s);
        rdk_text_free(&picture);
    }
    rdk_free(text);
    return rdk_ok(s);
}
