#pragma once

#include "codec/html/html_text.h"

namespace forebay {

/// What libforebay_xml.so gives the codec: its function forebay_html_v1 returns it.
struct HtmlLibrary {
  decltype(&append_html_text) append;
};

}  // namespace forebay
