#include "format/materialized/manifest.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json_depth.h"
#include "forebay/status.h"

namespace forebay {

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kManifestFormat = 1;
constexpr int64_t kMaxStoredRows = int64_t{1} << 50;
constexpr std::array<std::string_view, 6> kKinds = {"tensor",         "bytes",         "text",
                                                    "lists of bytes", "lists of text", "any"};

constexpr std::array<std::string_view, 4> kFormats = {"arrow", "parquet", "wds", "jpeg"};
constexpr std::array<std::string_view, 4> kEndings = {"arrow", "parquet", "tar", "tar"};

OrderedJson field_json(const StoredField& stored) {
  const Field& field = stored.field;
  OrderedJson json = {{"name", field.name}, {"kind", kKinds[static_cast<size_t>(field.kind)]}};
  if (field.kind == FieldKind::kTensor) {
    json["dtype"] = dtype_name(field.dtype);
    json["shape"] = std::vector<int64_t>(field.shape.begin(), field.shape.end());
  }
  const auto mark = [&](const char* name, bool set) {
    if (set) json[name] = true;
  };
  mark("image", field.image);
  mark("channels_first", field.channels_first);
  mark("layout_chosen", field.layout_chosen);
  mark("normalized", field.normalized);
  mark("in_index", stored.in_index);
  mark("encoded", stored.encoded);
  if (field.pad_value) json["pad_value"] = *field.pad_value, json["pad_length"] = field.pad_length;
  return json;
}

StoredField field_from(const OrderedJson& json) {
  StoredField stored;
  Field& field = stored.field;
  field.name = json.at("name").get<std::string>();
  const auto kind = std::find(kKinds.begin(), kKinds.end(), json.at("kind").get<std::string>());
  // Stored fields have a type. The last kind, "any", is not one.
  if (kind >= kKinds.end() - 1) throw std::invalid_argument("a field of an unknown kind");
  field.kind = static_cast<FieldKind>(kind - kKinds.begin());
  if (field.kind == FieldKind::kTensor) {
    const auto dtype = dtype_from_name(json.at("dtype").get<std::string>());
    const auto shape = json.at("shape").get<std::vector<int64_t>>();
    if (!dtype || shape.size() > Shape::kMaxRank) throw std::invalid_argument("a field of an unknown type");
    for (const int64_t dim : shape) {
      // Limited so that products of a few dimensions fit 64 bits.
      if (dim < Shape::kUnknown || dim > INT32_MAX) throw std::invalid_argument("a dimension out of range");
      field.shape.push_back(dim);
    }
    field.dtype = *dtype;
  }
  field.image = json.value("image", false);
  field.channels_first = json.value("channels_first", false);
  field.layout_chosen = json.value("layout_chosen", false);
  field.normalized = json.value("normalized", false);
  stored.in_index = json.value("in_index", false);
  stored.encoded = json.value("encoded", false);
  if (stored.encoded && (field.kind != FieldKind::kTensor || field.dtype != DType::kUint8 || stored.in_index))
    throw std::invalid_argument("a field that is marked as encoded and is no picture");
  if (json.contains("pad_value")) {
    field.pad_value = json.at("pad_value").get<double>();
    field.pad_length = json.at("pad_length").get<int64_t>();
  }
  return stored;
}

OrderedJson shard_json(const StoredShard& shard) {
  OrderedJson json = {{"rows", shard.rows}, {"bytes", shard.bytes}, {"xxh3", shard.checksum.to_string()}};
  if (shard.index_bytes > 0)
    json["index_bytes"] = shard.index_bytes, json["index_xxh3"] = shard.index_checksum.to_string();
  return json;
}

Hash128 hash_from(const OrderedJson& json) {
  Hash128 hash;
  if (!Hash128::parse(json.get<std::string>(), &hash)) throw std::invalid_argument("a malformed checksum");
  return hash;
}

StoredShard shard_from(const OrderedJson& json) {
  StoredShard shard;
  shard.rows = json.at("rows").get<int64_t>();
  shard.bytes = json.at("bytes").get<uint64_t>();
  shard.checksum = hash_from(json.at("xxh3"));
  shard.index_bytes = json.value("index_bytes", uint64_t{0});
  if (shard.index_bytes > 0) shard.index_checksum = hash_from(json.at("index_xxh3"));
  if (shard.rows < 0 || shard.rows > kMaxStoredRows) throw std::invalid_argument("a number of rows out of range");
  return shard;
}

constexpr std::string_view kUpdateBelow = "update-";
constexpr size_t kUpdateDigits = 16;

bool is_update_below(std::string_view name) {
  return name.size() == kUpdateBelow.size() + kUpdateDigits + 1 && name.starts_with(kUpdateBelow) &&
         name.ends_with('/') &&
         name.find_first_not_of("0123456789abcdef", kUpdateBelow.size()) == kUpdateBelow.size() + kUpdateDigits;
}

MaterializedManifest manifest_from(const OrderedJson& json) {
  MaterializedManifest manifest;
  const auto layout = json.at("layout").get<std::string>();
  if (layout != "samples" && layout != "chunks") throw std::invalid_argument("an unknown layout");
  manifest.layout = layout == "chunks" ? MaterializedManifest::Layout::kChunks : MaterializedManifest::Layout::kSamples;
  manifest.size = json.at("samples").get<int64_t>();
  const std::optional<StoredFormat> format = stored_format(json.value("format", "arrow"));
  if (!format) throw std::invalid_argument("an unknown format");
  manifest.format = *format;
  manifest.compression = json.value("compression", "");
  manifest.quality = json.value("quality", 0);
  manifest.limit = json.value("limit", int64_t{0});
  manifest.restart_markers = json.value("restart_markers", false);
  if (manifest.restart_markers && manifest.format != StoredFormat::kJpeg)
    throw std::invalid_argument("restart markers in another format than jpeg");
  manifest.below = json.value("below", "");
  // It becomes part of a key, where "../" would leave the folder.
  if (!manifest.below.empty() && !is_update_below(manifest.below))
    throw std::invalid_argument("an invalid folder of an update");
  manifest.steps = json.at("steps").dump();
  if (json.contains("order_at")) manifest.order_at = json.at("order_at").get<size_t>();
  manifest.version = hash_from(json.at("version"));
  manifest.place = hash_from(json.at("place"));
  for (const OrderedJson& field : json.at("fields")) manifest.fields.push_back(field_from(field));
  int64_t rows = 0;
  for (const OrderedJson& shard : json.at("shards")) {
    manifest.shards.push_back(shard_from(shard));
    rows += manifest.shards.back().rows;
    if (rows > kMaxStoredRows) throw std::invalid_argument("a number of rows out of range");
  }
  if (rows != manifest.size && !manifest.shards.empty())
    throw std::invalid_argument("a number of samples that differs from that of its shards");
  // An entry with a damaged name would be taken for one that is absent, and so for its default.
  const OrderedJson known = OrderedJson::parse(manifest.to_json());
  for (const auto& entry : json.items())
    if (!known.contains(entry.key())) throw std::invalid_argument(fmt::format("an unknown entry '{}'", entry.key()));
  return manifest;
}

// Exceptions of `read` become Corrupt errors about the text.
template <typename Read>
auto parsed(std::string_view text, const Read& read) -> Result<decltype(read(OrderedJson()))> {
  if (nests_too_deep(text)) return corrupt("is damaged: its lists and objects nest too deep");
  try {
    return read(OrderedJson::parse(text));
  } catch (const std::exception& error) {
    return corrupt(fmt::format("is damaged: {}", error.what()));
  }
}

}  // namespace

std::string_view name_of(StoredFormat format) { return kFormats[static_cast<size_t>(format)]; }

std::optional<StoredFormat> stored_format(std::string_view name) {
  const auto found = std::find(kFormats.begin(), kFormats.end(), name);
  if (found == kFormats.end()) return std::nullopt;
  return static_cast<StoredFormat>(found - kFormats.begin());
}

std::string shard_file(int64_t number, StoredFormat format) {
  return fmt::format("part-{:05}.{}", number, kEndings[static_cast<size_t>(format)]);
}
std::string index_file(int64_t number) { return fmt::format("_index/part-{:05}.arrow", number); }

std::string identities_file(int64_t number) { return fmt::format("_identities/part-{:05}.arrow", number); }

std::string update_below(const MaterializedManifest& wanted) {
  return fmt::format("{}{}/", kUpdateBelow, hash128(wanted.to_json()).to_string().substr(0, kUpdateDigits));
}

std::string to_json(const StoredShard& shard) { return shard_json(shard).dump(); }

Result<StoredShard> shard_from_json(std::string_view text) { return parsed(text, shard_from); }

std::string MaterializedManifest::steps_before() const {
  OrderedJson json = {{"steps", OrderedJson::parse(steps)}};
  if (lossy()) json["steps"].push_back({{"op", name_of(format)}, {"args", {{"quality", quality}, {"limit", limit}}}});
  if (order_at) json["order_at"] = *order_at;
  return json.dump();
}

Hash128 MaterializedManifest::data_version() const {
  if (!lossy()) return version;
  return hash128(fmt::format("{} {} {} {}", version.to_string(), name_of(format), quality, limit));
}

std::string MaterializedManifest::to_json() const {
  OrderedJson json = {{"forebay_materialized", kManifestFormat},
                      {"layout", layout == Layout::kChunks ? "chunks" : "samples"},
                      {"samples", size},
                      {"version", version.to_string()},
                      {"place", place.to_string()},
                      {"steps", OrderedJson::parse(steps)}};
  if (order_at) json["order_at"] = *order_at;
  if (format != StoredFormat::kArrow) json["format"] = name_of(format);
  if (!compression.empty()) json["compression"] = compression;
  if (lossy()) json["quality"] = quality, json["limit"] = limit;
  if (restart_markers) json["restart_markers"] = true;
  if (!below.empty()) json["below"] = below;
  for (const StoredField& field : fields) json["fields"].push_back(field_json(field));
  // Written even if empty, which marks the manifest of unfinished data.
  json["shards"] = OrderedJson::array();
  for (const StoredShard& shard : shards) json["shards"].push_back(shard_json(shard));
  return json.dump(1) + "\n";
}

Result<MaterializedManifest> MaterializedManifest::from_json(std::string_view text) {
  FOREBAY_ASSIGN(const OrderedJson json, parsed(text, [](const OrderedJson& any) { return any; }));
  if (!json.is_object() || !json.contains("forebay_materialized"))
    return corrupt("is no manifest of materialised data");
  // Checked first, because a later format may use the same names with other meanings.
  if (json["forebay_materialized"] != kManifestFormat)
    return unsupported(fmt::format("has format {}; this Forebay reads format {}", json["forebay_materialized"].dump(),
                                   kManifestFormat));
  return parsed(text, manifest_from);
}

}  // namespace forebay
