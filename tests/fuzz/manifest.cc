// The manifest readers: any text in any pieces gives rows or a status, the same for every way of cutting it.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "format/manifest.h"

namespace {

using namespace forebay;

std::string outcome(ManifestFormat format, const ManifestLayout& layout, const std::string& text, size_t step) {
  size_t at = 0;
  const auto table = parse_manifest(format, layout, [&]() -> Result<std::string> {
    std::string piece = text.substr(at, step);
    at += piece.size();
    return piece;
  });
  if (!table.ok()) return table.status().to_string();
  Hasher hasher;
  for (int64_t i = 0; i < table->paths.size(); ++i) hasher.update(table->paths.text(i));
  for (const Column& column : table->columns) {
    if (column.value(table->paths.size() - 1).kind == FieldKind::kAny) std::abort();
    column.hash(hasher);
  }
  return hasher.digest().to_string();
}

}  // namespace

/// The first byte chooses the format, the header and the size of the pieces; the rest is the text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto format = static_cast<ManifestFormat>(data[0] % 4);
  ManifestLayout layout;
  layout.header = data[0] < 128 || format == ManifestFormat::kJsonl;
  if (!layout.header) layout.columns = {"path", "label"};
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (outcome(format, layout, text, 1 << 20) != outcome(format, layout, text, 1 + data[0] / 4 % 16)) std::abort();
  return 0;
}
