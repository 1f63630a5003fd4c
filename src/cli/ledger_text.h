#pragma once

#include <string>

#include "forebay/ledger.h"

namespace forebay {

/// A figure a line, for people: "stores[0].requests  12"; sizes and seconds with their units, of a histogram only the ranges that
/// have something.
std::string to_text(const Ledger& ledger);

}  // namespace forebay
