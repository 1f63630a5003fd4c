#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/work_memory.h"
#include "forebay/status.h"

namespace forebay {

/// Elements inside of each other, beyond which a page is Unsupported: browsers flatten what is deeper than 512.
constexpr uint32_t kDeepestHtml = 1024;
/// Of a page.
constexpr uint64_t kMostHtmlBytes = 64 << 20;

/// Appends the text of a page to `text`.
///
/// Any bytes of UTF-8 have a text. Left out: the head, script, style, template, noscript, iframe, comments. A run of blanks, tabs and line ends is one
/// blank; at the beginning and end of a line it is nothing. A line ends where a block (p, div, li, tr, h1, …) begins or ends, and at br; lines without
/// text are left out. Cells of a table are apart by a blank. In pre and textarea, text stays as it is. Lines are joined by '\n'; there is none at the end.
///
/// What the page says of its own encoding is not believed. Memory is reserved before it is taken. Unsupported for pages that are nested too deep, or too
/// long; the text is then as it was before. Neither a tree nor a stack grows with the page.
Status append_html_text(std::span<const uint8_t> page, WorkMemory& memory, std::string& text);

}  // namespace forebay
