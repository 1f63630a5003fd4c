// The functions of forebay/pipeline.h that begin a pipeline.
#include <fmt/format.h>

#include "forebay/pipeline.h"
#include "loader/describe/given_args.h"
#include "loader/describe/hdf5_args.h"
#include "loader/describe/mix_args.h"
#include "loader/describe/open_source.h"
#include "loader/describe/source_args.h"
#include "loader/describe/table_args.h"
#include "loader/describe/user_code.h"
#include "loader/describe/webdataset_args.h"
#include "loader/describe/zip_source.h"
#include "pipeline/description.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

Pipeline source(std::string name, Json args, std::shared_ptr<void> attachment = nullptr,
                std::string attachment_name = "") {
  OpSpec op{std::move(name), std::move(args), std::move(attachment), std::move(attachment_name)};
  return Pipeline(std::make_shared<const Description>(std::move(op)));
}

Pipeline source_of_parts(std::string name, Json args, std::vector<std::pair<std::string, Pipeline>> parts) {
  OpSpec op{std::move(name), std::move(args), nullptr, ""};
  for (auto& [part, pipeline] : parts) op.parts.push_back({std::move(part), pipeline.description()});
  return Pipeline(std::make_shared<const Description>(std::move(op)));
}

}  // namespace

Pipeline mix(std::vector<std::pair<std::string, Pipeline>> parts, MixSourceOptions options) {
  std::vector<std::string> names;
  for (const auto& [name, pipeline] : parts) names.push_back(name);
  return source_of_parts("mix", mix_args(names, options), std::move(parts));
}

Pipeline concat(std::vector<Pipeline> parts) {
  std::vector<std::pair<std::string, Pipeline>> named;
  for (Pipeline& part : parts) named.emplace_back(std::to_string(named.size()), std::move(part));
  return concat(std::move(named));
}

Pipeline concat(std::vector<std::pair<std::string, Pipeline>> parts) {
  return source_of_parts("concat", Json::object(), std::move(parts));
}

Pipeline zip(std::vector<std::pair<std::string, Pipeline>> parts, ZipSourceOptions options) {
  return source_of_parts("zip", zip_args(options), std::move(parts));
}

Pipeline images(std::string root, ImagesOptions options) {
  return source("images",
                given_args({{"root", std::move(root)},
                            {"split_by", std::move(options.split_by)},
                            {"classes", options.classes.empty() ? Json() : Json(std::move(options.classes))}}));
}

namespace {
// False is left out, as in Python.
Json follow_json(bool follow) { return follow ? Json(true) : Json(); }
}  // namespace

Pipeline files(std::string pattern, FilesOptions options) {
  return source("files",
                given_args({{"pattern_or_list", std::move(pattern)}, {"follow", follow_json(options.follow)}}));
}
Pipeline stream(std::string url, LogOptions options) {
  return source("stream",
                given_args({{"url", std::move(url)},
                            {"fields", options.fields.empty() ? Json() : Json(options.fields)},
                            {"partition", options.partition.empty() ? Json() : Json(options.partition)},
                            {"format", options.format.empty() ? Json() : Json(options.format)},
                            {"start", options.start == "beginning" ? Json() : Json(options.start)},
                            {"on_trimmed", options.on_trimmed == "error" ? Json() : Json(options.on_trimmed)}}));
}
Pipeline files(std::vector<std::string> names) { return source("files", {{"pattern_or_list", std::move(names)}}); }

Pipeline manifest(std::string url, ManifestOptions options) {
  return source("manifest", given_args({{"url", std::move(url)},
                                        {"root", options.root.empty() ? Json() : Json(options.root)},
                                        {"path", std::move(options.path)},
                                        {"header", options.header ? Json() : Json(false)},
                                        {"columns", options.columns.empty() ? Json() : Json(options.columns)},
                                        {"types", options.types.empty() ? Json() : Json(options.types)}}));
}

namespace {
Pipeline lines(Json pattern, const TextOptions& options) {
  return source("text", given_args({{"pattern", std::move(pattern)},
                                    {"by", options.by == "line" ? Json() : Json(options.by)},
                                    {"follow", follow_json(options.follow)}}));
}

Pipeline records(Json pattern, const JsonlOptions& options) {
  Json args = {{"pattern", std::move(pattern)}};
  if (!options.fields.empty()) args["fields"] = options.fields;
  args.update(table_args({.null = options.null}));
  if (options.nan != "error") args["nan"] = options.nan;
  if (options.follow) args["follow"] = true;
  return source("jsonl", std::move(args));
}
}  // namespace

Pipeline text(std::string pattern, TextOptions options) { return lines(std::move(pattern), options); }
Pipeline text(std::vector<std::string> names, TextOptions options) { return lines(std::move(names), options); }
Pipeline jsonl(std::string pattern, JsonlOptions options) { return records(std::move(pattern), options); }
Pipeline jsonl(std::vector<std::string> names, JsonlOptions options) { return records(std::move(names), options); }

Pipeline materialized(std::string url, MaterializedOptions options) {
  return source("materialized",
                given_args({{"url", std::move(url)},
                            {"original", options.original == "check" ? Json() : Json(options.original)}}));
}

namespace {
Pipeline shards(Json pattern, const WebdatasetOptions& options) {
  return source("webdataset", webdataset_args(std::move(pattern), options));
}
}  // namespace

Pipeline webdataset(std::string pattern, WebdatasetOptions options) { return shards(std::move(pattern), options); }
Pipeline webdataset(std::vector<std::string> names, WebdatasetOptions options) {
  return shards(std::move(names), options);
}

Pipeline arrays(std::map<std::string, Array> fields) {
  std::vector<NamedArray> files;
  for (const auto& [name, array] : fields) {
    if (!array.path.empty()) files.push_back({name, array.path});
  }
  if (!files.empty() && files.size() == fields.size())
    return Pipeline(std::make_shared<const Description>(npy_arrays_step(files)));
  auto data = std::make_shared<std::vector<Array>>();
  Json names = Json::array();
  std::string text;
  for (auto& [name, array] : fields) {
    text += (text.empty() ? "" : ", ") + name + "=" +
            (array.path.empty() ? fmt::format("<{}{} {}>", array.text ? "text of " : "", dtype_name(array.values.dtype),
                                              array.values.shape.to_string())
                                : array.path);
    names.push_back(name);
    data->push_back(std::move(array));
  }
  return source("arrays", {{"fields", std::move(names)}}, std::move(data), std::move(text));
}

namespace {
Pipeline table(std::string format, Json pattern, const TableOptions& options) {
  Json args = {{"pattern", std::move(pattern)}};
  args.update(table_args(options));
  return source(std::move(format), std::move(args));
}
}  // namespace

Pipeline parquet(std::string pattern, TableOptions options) { return table("parquet", std::move(pattern), options); }
Pipeline parquet(std::vector<std::string> names, TableOptions options) {
  return table("parquet", std::move(names), options);
}
Pipeline arrow(std::string pattern, TableOptions options) { return table("arrow", std::move(pattern), options); }
Pipeline arrow(std::vector<std::string> names, TableOptions options) {
  return table("arrow", std::move(names), options);
}

namespace {
Pipeline hdf5_files(Json pattern, const Hdf5Options& options) {
  Json args = {{"pattern", std::move(pattern)}};
  args.update(hdf5_args(options));
  return source("hdf5", std::move(args));
}
}  // namespace

Pipeline hdf5(std::string pattern, Hdf5Options options) { return hdf5_files(std::move(pattern), options); }
Pipeline hdf5(std::vector<std::string> names, Hdf5Options options) { return hdf5_files(std::move(names), options); }

Pipeline megatron(std::string prefix, std::string by) {
  return source("megatron", {{"prefix", std::move(prefix)}, {"by", std::move(by)}});
}

Result<Pipeline> arrow_streams(std::span<void* const> streams, TableOptions options) {
  FOREBAY_ASSIGN(OpSpec step, arrow_streams_step(streams, table_args(options)));
  return Pipeline(std::make_shared<const Description>(std::move(step)));
}

}  // namespace forebay
