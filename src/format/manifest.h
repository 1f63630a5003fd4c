#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"
#include "format/column.h"
#include "format/objects/open_store.h"

namespace forebay {

enum class ManifestFormat : uint8_t { kCsv, kTsv, kJsonl, kParquet };

/// By the ending of the name: csv, tsv, jsonl, ndjson, parquet.
Result<ManifestFormat> manifest_format(std::string_view name);

/// The rows of a manifest: the paths, and the other columns with the types that were found.
struct ManifestTable {
  ColumnBuilder paths{"path"};
  std::vector<Column> columns;
};

/// Gives the next piece of the manifest's text; empty at its end.
using NextPiece = std::function<Result<std::string>()>;

/// Reads a manifest of text in pieces, so that its text is never in memory as a whole. CSV needs a header row (a column
/// without a name is called unnamed_0, unnamed_1, ...). Errors name the line.
Result<ManifestTable> parse_manifest(ManifestFormat format, const std::string& path_column, const NextPiece& next);

struct OpenManifestOptions {
  /// Folder that the paths are relative to; paths then may not leave it. Without it they are relative to the
  /// manifest's own folder and may be absolute, or URLs that all lead to one store.
  std::optional<std::string> root;
  std::string path_column = "path";
  /// For Source::identity(): eight bytes a sample.
  bool keep_versions = false;
  /// Opens the store of the objects where it is not the manifest's own.
  std::function<Result<StoreAndPath>(const std::string& url)> open_elsewhere = {};
};

/// Objects listed by a CSV, JSONL or Parquet file, as `fb.manifest` describes it. The id is the row. An object that does not
/// exist is found when it is read (and is then a matter of the error policy), unless none exists. Remote stores are not asked
/// for each object: there it is always found when it is read, and a column `size` of integers, where there is one, says the
/// sizes.
Result<std::unique_ptr<Source>> open_manifest(StoreAndPath place, const OpenManifestOptions& options,
                                              std::stop_token stop);

}  // namespace forebay
