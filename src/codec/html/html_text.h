#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/work_memory.h"
#include "forebay/status.h"

namespace forebay {

/// Maximum nesting of elements; a deeper page is Unsupported. Browsers flatten elements below level
/// 512.
constexpr uint32_t kDeepestHtml = 1024;
/// Maximum size of a page.
constexpr uint64_t kMaxHtmlBytes = 64 << 20;

/// Appends the text of an HTML page to `text`.
///
/// Any UTF-8 bytes have a text. It omits the head, script, style, template, noscript, iframe and
/// comments. A run of blanks, tabs and line ends becomes one blank, and is dropped at the beginning
/// and end of a line. A line ends where a block (p, div, li, tr, h1, …) begins or ends, and at br.
/// Lines without text are dropped. A blank separates the cells of a table. Text in pre and textarea
/// is not changed. Lines are joined by '\n', with none at the end.
///
/// The page's own statement of its encoding is ignored. Memory is reserved from `memory` before it
/// is allocated. Unsupported for pages that are nested too deeply or too long; `text` is then
/// unchanged. Neither a tree nor a stack grows with the page.
Status append_html_text(std::span<const uint8_t> page, WorkMemory& memory, std::string& text);

}  // namespace forebay
