#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/column_type.h"
#include "base/source.h"
#include "format/column.h"
#include "format/files/open_store.h"

namespace forebay {

enum class ManifestFormat : uint8_t { kCsv, kTsv, kTextList, kJsonl, kParquet };

/// The format by the extension of the name: csv, tsv, jsonl, ndjson or parquet. txt, lst and list
/// are text lists (text_list_reader.h).
Result<ManifestFormat> manifest_format(std::string_view name);

/// How the rows of a manifest are read.
struct ManifestLayout {
  std::string path_column = "path";
  /// True if the first row of CSV, TSV and text lists names the columns.
  bool header = true;
  std::vector<std::string> columns = {};  ///< column names if there is no header
  ColumnTypes types = {};                 ///< types of columns other than the path column
};

/// InvalidArgument if the layout does not apply to a manifest of this format.
Status check_manifest_layout(ManifestFormat format, const ManifestLayout& layout);
/// Checks the types of the layout once the column names are known.
Status check_manifest_types(const ManifestLayout& layout, const std::vector<std::string>& names);

/// The rows of a manifest: the paths, and the other columns with their inferred types.
struct ManifestTable {
  ColumnBuilder paths{"path"};
  /// The ends of each row's paths, if its path is a list of any number of paths; `keys` has those
  /// lists as they are written. Empty if each row has one path.
  std::vector<uint64_t> path_ends = {};
  ColumnBuilder keys{"key"};
  std::vector<Column> columns;
};

/// Returns the next piece of the manifest's text; empty at its end.
using NextPiece = std::function<Result<std::string>()>;

/// Parses a text manifest piece by piece, so its text is never in memory as a whole. A column
/// without a name in the header is called unnamed_0, unnamed_1, ... Errors name the line.
/// InvalidArgument if the layout does not fit the manifest, or if the header looks like a row, so
/// that a row is never taken for the header by mistake.
Result<ManifestTable> parse_manifest(ManifestFormat format, const ManifestLayout& layout, const NextPiece& next);

/// How open_manifest() finds the objects that a manifest lists.
struct OpenManifestOptions {
  /// Folder that the paths are relative to; no path may then leave it. Without it, paths are
  /// relative to the manifest's own folder, and may be absolute or URLs that all name one store.
  std::optional<std::string> root;
  ManifestLayout layout = {};
  /// Stores eight bytes per sample for Source::identity().
  bool keep_versions = false;
  /// Opens the store of the objects if it is not the manifest's own store.
  std::function<Result<StoreAndPath>(const std::string& url)> open_elsewhere = {};
};

/// Opens the objects listed by a CSV, JSONL or Parquet file, as `fb.manifest` describes it. The id
/// is the row number. On a local store opening fails if none of the objects exists; otherwise a
/// missing object is an error when it is read, to which the error policy applies. Remote stores are
/// not asked about each object; their sizes come from an integer column `size` if there is one.
Result<std::unique_ptr<Source>> open_manifest(StoreAndPath location, const OpenManifestOptions& options,
                                              std::stop_token stop);

}  // namespace forebay
