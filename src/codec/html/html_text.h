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
/// The page is parsed as the HTML standard has it, so any bytes have a tree. Left out: the head, script, style, template, noscript, iframe, comments.
/// A run of blanks, tabs and line ends is one blank; at the beginning and end of a line it is nothing. A line ends where a block (p, div, li, tr, h1, …)
/// begins or ends, and at br; lines without text are left out. In pre and textarea, text stays as it is. Lines are joined by '\n'; there is none at the end.
///
/// `page` is UTF-8. Memory for the tree is reserved before it is taken. Unsupported for pages that are nested too deep, or too long; the text is then
/// as it was before. The stack that it takes does not grow with the page.
Status append_html_text(std::span<const uint8_t> page, WorkMemory& memory, std::string& text);

}  // namespace forebay
