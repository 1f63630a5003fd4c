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

/// By the ending of the name: csv, tsv, jsonl, ndjson, parquet; txt, lst and list are text lists (see `text_list_reader.h`).
Result<ManifestFormat> manifest_format(std::string_view name);

/// How the rows of a manifest are read.
struct ManifestLayout {
  std::string path_column = "path";
  bool header = true;                     ///< the first row of CSV, TSV and text lists names the columns
  std::vector<std::string> columns = {};  ///< their names where there is no header
  ColumnTypes types = {};                 ///< of columns other than that of the paths
};

/// InvalidArgument where such a layout is not one of such a manifest.
Status check_manifest_layout(ManifestFormat format, const ManifestLayout& layout);
/// The same for its types, where the columns' names are known.
Status check_manifest_types(const ManifestLayout& layout, const std::vector<std::string>& names);

/// The rows of a manifest: the paths, and the other columns with the types that were found.
struct ManifestTable {
  ColumnBuilder paths{"path"};
  std::vector<Column> columns;
};

/// Gives the next piece of the manifest's text; empty at its end.
using NextPiece = std::function<Result<std::string>()>;

/// Reads a manifest of text in pieces, so that its text is never in memory as a whole. In a header, a column without a name is
/// called unnamed_0, unnamed_1, ... Errors name the line. InvalidArgument where the layout and the manifest do not go together,
/// also where the header looks like a row: a row is never taken for names by mistake.
Result<ManifestTable> parse_manifest(ManifestFormat format, const ManifestLayout& layout, const NextPiece& next);

struct OpenManifestOptions {
  /// Folder that the paths are relative to; paths then may not leave it. Without it they are relative to the
  /// manifest's own folder and may be absolute, or URLs that all lead to one store.
  std::optional<std::string> root;
  ManifestLayout layout = {};
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
