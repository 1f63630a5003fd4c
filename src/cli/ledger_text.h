#pragma once

#include <string>

namespace forebay {

struct Ledger;

/// Returns the ledger for people, one figure a line: "stores[0].requests  12". Sizes and seconds
/// have units. Empty ranges of histograms are left out.
std::string to_text(const Ledger& ledger);

}  // namespace forebay
