#include "loader/describe/sources.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "loader/describe/hdf5_args.h"
#include "loader/describe/line_args.h"
#include "loader/describe/megatron_args.h"
#include "loader/describe/mix_args.h"
#include "loader/describe/open_materialized_step.h"
#include "loader/describe/open_sample_sources.h"
#include "loader/describe/source_args.h"
#include "loader/describe/stream_args.h"
#include "loader/describe/table_args.h"
#include "loader/describe/user_code.h"
#include "loader/describe/webdataset_args.h"
#include "loader/describe/zip_source.h"
#include "ops/definition/args.h"

namespace forebay {

namespace {

Field field_of(std::string name, FieldKind kind) {
  Field field;
  field.name = std::move(name);
  field.kind = kind;
  return field;
}

Field fetched_bytes(std::string name) {
  Field field = field_of(std::move(name), FieldKind::kBytes);
  field.fetched = true;
  return field;
}

Schema open_ended(Schema schema = {}) {
  schema.open_ended = true;
  return schema;
}

Schema images_schema(const OpSpec& source) {
  Schema schema({fetched_bytes("image")});
  schema[0].image = true;
  if (source.args.value("split_by", Json("folder")) == Json("folder")) {
    Field label = field_of("label", FieldKind::kTensor);
    label.dtype = DType::kInt64;
    schema.push_back(std::move(label));
  }
  schema.push_back(field_of("key", FieldKind::kText));
  return schema;
}

Schema files_schema() { return Schema({fetched_bytes("bytes"), field_of("key", FieldKind::kText)}); }

Schema text_schema() {
  Schema schema({field_of("text", FieldKind::kText), field_of("key", FieldKind::kText)});
  schema[0].fetched = true;
  return schema;
}

Schema arrays_schema(const OpSpec& source) {
  Schema schema;
  for (NamedArray& array : named_arrays(source)) schema.push_back(field_of(std::move(array.name), FieldKind::kAny));
  return schema;
}

bool is_text(const Json& value) { return value.is_string(); }

void check_images(const OpSpec& source, std::vector<Problem>& found) {
  const Json given = source.args.value("classes", Json());
  if (given.is_null()) return;
  constexpr const char* kRemedy =
      "give the names of the class folders in the order of their labels: [\"ant\", \"bee\"]";
  if (!given.is_array() || given.empty() || !std::all_of(given.begin(), given.end(), is_text))
    return Problems(found).add("classes is not a list of names", kRemedy);
  std::set<std::string> names;
  for (const Json& one : given) {
    const auto name = one.get<std::string>();
    if (name.empty() || name.find('/') != std::string::npos)
      Problems(found).add(fmt::format("'{}' in classes is not the name of a folder directly below the root", name),
                          kRemedy);
    if (!names.insert(name).second) Problems(found).add(fmt::format("classes has '{}' twice", name), kRemedy);
  }
  if (source.args.value("split_by", Json("folder")) != Json("folder"))
    Problems(found).add("classes is given, but split_by is not \"folder\"", "leave one of them out");
}

void check_files(const OpSpec& source, std::vector<Problem>& found) {
  const Json given = source.args.value("pattern_or_list", Json());
  if (given.is_null() || given.is_string()) return;
  if (!given.is_array() || !std::all_of(given.begin(), given.end(), is_text))
    Problems(found).add("pattern_or_list is neither a text nor a list of texts",
                        "give a pattern such as 'photos/**/*.jpg', or a list of files");
}

void check_arrays(const OpSpec& source, std::vector<Problem>& found) {
  const Json given = source.args.value("fields", Json());
  if (given.is_null() || source.attachment) return;
  if (given.is_array() && !given.empty()) {
    Problems(found).add("the arrays themselves are missing; a pipeline read from JSON has none",
                        "write them to .npy files and give their paths, or begin with fb.arrays(...) in your program");
  } else if (!given.is_object() || given.empty() || !std::all_of(given.begin(), given.end(), is_text)) {
    Problems(found).add("fields does not give a .npy file for each name", "write {\"name\": \"path.npy\", …}");
  }
}

void check_dataset(const OpSpec& source, std::vector<Problem>& found) {
  if (source.args.value("version", Json()) == Json(""))
    Problems(found).add("its version is empty",
                        "give version=\"1\", and another one when the data set changes, or leave it out");
  // A step with an object has its type's name, also if another language holds the object.
  if (!source.attachment_name.empty()) return;
  Problems(found).add(
      "the data set itself is missing; a pipeline read from JSON has none",
      "begin with fb.Dataset(...) in your program, or with a source that has a name, such as files or parquet");
}

ArgDef location_arg(std::string name, ArgType type, bool required, std::string help) {
  return {std::move(name), type, required, nullptr, std::move(help), ArgForm::kPlain, ArgUse::kPlace};
}

ArgDef follow_arg() {
  return {"follow", ArgType::kBool, false, false, "true: what comes later, too, without an end", ArgForm::kNamed};
}

using OpenSource = decltype(SourceDef::open);

// Opens the same files as a log if `follow` is set.
OpenSource open_or_follow(const char* pattern, const char* format, bool whole_files, OpenSource open_files) {
  return [=](const OpSpec& source, const OpenSourceOptions& options) {
    return follows(source) ? open_followed(source, pattern, format, whole_files, options) : open_files(source, options);
  };
}

SourceDef images_source() {
  return {.name = "images",
          .help = "A folder of pictures with one sub-folder per class.",
          .args = {location_arg("root", ArgType::kText, true, "the folder that holds the class folders"),
                   {"split_by", ArgType::kText, false, "folder",
                    "what makes classes: \"folder\"; or \"none\": all pictures below the root, without labels"},
                   {"classes", ArgType::kJson, false, nullptr,
                    "the class folders in the order of their labels; all folders, sorted by name, if not given"}},
          .announced = images_schema,
          .check = check_images,
          .open = open_images,
          .classes = class_folders};
}

SourceDef files_source() {
  return {
      .name = "files",
      .help = "Files as they are.",
      .args = {location_arg("pattern_or_list", ArgType::kJson, true, "a pattern, or a list of files"), follow_arg()},
      .announced = [](const OpSpec&) { return files_schema(); },
      .check = check_files,
      .open = open_or_follow("pattern_or_list", "bytes", /*whole_files=*/true, open_files_step)};
}

SourceDef manifest_source() {
  return {.name = "manifest",
          .help = "Objects listed in a CSV, JSONL or Parquet file, a row each.",
          .args = {location_arg("url", ArgType::kText, true, "a CSV, JSONL or Parquet file"),
                   location_arg("root", ArgType::kText, false,
                                "what the paths are relative to; the list's folder if not given"),
                   {"path", ArgType::kText, false, "path", "the column that holds the paths"},
                   {"header", ArgType::kBool, false, true, "whether the first line names the columns"},
                   {"columns", ArgType::kJson, false, nullptr, "their names where there is no header"},
                   {"types", ArgType::kJson, false, nullptr, "types by column, in place of what the values look like"}},
          .announced = [](const OpSpec&) { return open_ended(files_schema()); },
          .open = open_manifest_step};
}

SourceDef text_source() {
  return {.name = "text",
          .help = "Lines of text files, or text files as they are.",
          .args = {location_arg("pattern", ArgType::kJson, true, "a folder, a file, a pattern, or a list of files"),
                   {"by", ArgType::kText, false, "line", "what a sample is: \"line\" or \"file\""},
                   follow_arg()},
          .kind = SourceKind::kTable,
          .announced = [](const OpSpec&) { return text_schema(); },
          .check = check_text,
          .open = open_or_follow("pattern", "text", /*whole_files=*/false, open_text_step)};
}

SourceDef jsonl_source() {
  return {.name = "jsonl",
          .help = "Records of JSON: one a line, or the elements of a list.",
          .args = {location_arg("pattern", ArgType::kJson, true, "a folder, a file, a pattern, or a list of files"),
                   {"fields", ArgType::kJson, false, nullptr,
                    "the members to take, with their types; those of the first records if not given"},
                   {"null", ArgType::kJson, false, "error",
                    "what becomes of what is null or missing: \"error\", a value, or values by field"},
                   {"nan", ArgType::kText, false, "error",
                    "what becomes of NaN and Infinity, which are no JSON: \"error\", \"keep\" or \"null\""},
                   follow_arg()},
          .kind = SourceKind::kTable,
          .announced = [](const OpSpec&) { return open_ended(); },
          .check = check_jsonl,
          .open = open_or_follow("pattern", "json", /*whole_files=*/false, open_jsonl_step)};
}

SourceDef arrays_source() {
  return {.name = "arrays",
          .help = "Arrays in memory, or .npy files; the first axis is the sample.",
          .args = {{"fields", ArgType::kJson, true, nullptr, "the arrays by name", ArgForm::kPairs}},
          .announced = arrays_schema,
          .check = check_arrays,
          .open = open_array_fields};
}

SourceDef dataset_source() {
  return {.name = "dataset",
          .help = "The user's own object, which gives a sample for an index.",
          .args = dataset_args(),
          .kind = SourceKind::kUserCode,
          .announced = [](const OpSpec&) { return open_ended(); },
          .check = check_dataset,
          .open = open_dataset};
}

SourceDef stream_source() {
  return {.name = "stream",
          .help = "Records of a broker's log, as they come.",
          .args = {location_arg("url", ArgType::kText, true, "redis://, nats:// or kafka://, and what to read there"),
                   {"fields", ArgType::kJson, false, nullptr, "of a record's payload: types by name"},
                   {"partition", ArgType::kJson, false, nullptr,
                    "of Kafka: the number of one, or a list of them; all if not given"},
                   {"format", ArgType::kText, false, nullptr, "of payloads: \"bytes\", \"json\" or \"fields\"",
                    ArgForm::kNamed},
                   {"start", ArgType::kText, false, "beginning", "\"beginning\", or \"now\"", ArgForm::kNamed},
                   {"on_trimmed", ArgType::kText, false, "error", "\"error\", or \"skip\" what the log has forgotten",
                    ArgForm::kNamed}},
          .unbounded = true,
          .announced = announced_stream,
          .check = check_stream,
          .open = open_stream};
}

SourceDef iterable_source() {
  return {.name = "iterable",
          .help = "The user's own records, in the order in which they come; of each partition from an offset on.",
          .args = {{"partition", ArgType::kJson, false, nullptr,
                    "names of the partitions; one without a name if not given"}},
          .kind = SourceKind::kUserCode,
          .unbounded = true,
          .announced = [](const OpSpec&) { return open_ended(); },
          .check = check_iterable,
          .open = open_iterable};
}

SourceDef table_source(std::string name, std::string help, TableRequest::Format format) {
  return {
      .name = std::move(name),
      .help = std::move(help),
      .args = {location_arg("pattern", ArgType::kJson, false, "a folder, a file, a pattern, or a list of files"),
               {"columns", ArgType::kJson, false, nullptr, "those to read, in this order; all if not given"},
               {"filter", ArgType::kJson, false, nullptr, "conditions (column, op, value) on the rows to keep"},
               {"null", ArgType::kJson, false, "error",
                "what becomes of nulls: \"error\", a value, values by column, or masks"},
               {"types", ArgType::kJson, false, nullptr, "the types to read columns as; the files' own if not given"},
               follow_arg()},
      .kind = SourceKind::kTable,
      .announced = [](const OpSpec&) { return open_ended(); },
      .check = check_table,
      .open = [format](const OpSpec& source,
                       const OpenSourceOptions& options) -> Result<std::shared_ptr<const Source>> {
        if (follows(source)) return open_followed_table(source, format, options);
        FOREBAY_ASSIGN(std::shared_ptr<const Source> opened, open_table_source(source, format, options));
        return opened;
      }};
}

SourceDef webdataset_source() {
  return {
      .name = "webdataset",
      .help = "Tar shards as the package webdataset has them: files of one base name are a sample.",
      .args = {location_arg("pattern", ArgType::kJson, true, "a folder, a file, a pattern, or a list of files"),
               {"fields", ArgType::kJson, false, nullptr,
                "extensions by field, several as in \"jpg;png\"; or a list of extensions; all if not given"},
               {"optional", ArgType::kFields, false, Json::array(),
                "fields that a sample may lack; `<name>_valid` says which do", ArgForm::kNamed},
               {"chunk", ArgType::kBytes, false, "8MiB", "bytes of samples that are read together", ArgForm::kNamed},
               {"split", ArgType::kText, false, "first",
                "the dot that ends a sample's name: \"first\", or \"last\" for names with periods", ArgForm::kNamed},
               {"index", ArgType::kText, false, "cache",
                "where it is kept what is in the shards: \"cache\", or \"beside\" each of them", ArgForm::kNamed,
                ArgUse::kPlace}},
      .kind = SourceKind::kTable,
      .announced = announced_webdataset,
      .check = check_webdataset,
      .open = open_webdataset_step};
}

SourceDef hdf5_source() {
  return {.name = "hdf5",
          .help = "Rows of data sets of HDF5 files, or windows over them.",
          .args = {location_arg("pattern", ArgType::kJson, true, "a folder, a file, a pattern, or a list of files"),
                   {"fields", ArgType::kJson, true, nullptr,
                    "for each field where it is: \"/group/data\", \"/table.member\" or \"/data@attribute\""},
                   {"window", ArgType::kInt, false, nullptr,
                    "so many rows together are a sample; each row is one if not given"},
                   {"stride", ArgType::kInt, false, nullptr,
                    "rows from one window to the next; the length of a window if not given"}},
          .kind = SourceKind::kTable,
          .announced = [](const OpSpec&) { return open_ended(); },
          .check = check_hdf5,
          .open = open_hdf5_step};
}

SourceDef megatron_source() {
  return {.name = "megatron",
          .help = "Tokens of an indexed data set of Megatron-LM.",
          .args = {location_arg("prefix", ArgType::kText, true, "the path of its two files without .bin and .idx"),
                   {"by", ArgType::kText, false, "document", "what a sample is: \"document\" or \"sequence\""}},
          .announced = [](const OpSpec&) { return open_ended(Schema({field_of("tokens", FieldKind::kAny)})); },
          .check = check_megatron,
          .open = open_megatron_step};
}

SourceDef materialized_source() {
  return {
      .name = "materialized",
      .help = "What `materialize` wrote: the ids, order and fingerprint of the original.",
      .args = {location_arg("url", ArgType::kText, true, "the folder that was written"),
               {"original", ArgType::kText, false, "check",
                "\"check\" whether what it was made of has changed, or \"trust\" it", ArgForm::kPlain, ArgUse::kPlace}},
      .kind = SourceKind::kTable,
      .announced = [](const OpSpec&) { return open_ended(); },
      .check = check_materialized,
      .open = open_materialized_step};
}

SourceDef mix_source() {
  return {.name = "mix",
          .help =
              "Several pipelines without a batch as one data set, mixed by position: by shares, or without them "
              "each sample once, shuffled over all parts.",
          .args = mix_arg_defs(),
          .kind = SourceKind::kParts,
          .mixes_parts = true,
          .announced = [](const OpSpec&) { return open_ended(); },
          .check = check_mix,
          .open = open_parts};
}

SourceDef concat_source() {
  return {.name = "concat",
          .help = "Several pipelines without a batch as one data set, one after the other.",
          .args = {},
          .kind = SourceKind::kParts,
          .announced = [](const OpSpec&) { return open_ended(); },
          .open = open_parts};
}

SourceDef zip_source() {
  return {.name = "zip",
          .help = "Several pipelines without a batch side by side: a sample has the fields of all of them.",
          .args = zip_arg_defs(),
          .kind = SourceKind::kParts,
          .announced = announced_zip,
          .check = check_zip,
          .open = open_zip,
          .joins_parts = true};
}

}  // namespace

std::span<const SourceDef> sources() {
  // In the order of the documentation, which describe_catalog() relies on.
  static const std::vector<SourceDef> all = {
      images_source(),
      files_source(),
      manifest_source(),
      text_source(),
      jsonl_source(),
      arrays_source(),
      table_source("parquet", "Parquet files as one table.", TableRequest::Format::kParquet),
      table_source("arrow", "Arrow files, or tables in memory, as one table.", TableRequest::Format::kArrow),
      webdataset_source(),
      hdf5_source(),
      megatron_source(),
      materialized_source(),
      mix_source(),
      concat_source(),
      zip_source(),
      dataset_source(),
      iterable_source(),
      stream_source()};
  return all;
}

const SourceDef* find_source(std::string_view name) {
  const auto found = std::ranges::find(sources(), name, &SourceDef::name);
  return found == sources().end() ? nullptr : &*found;
}

bool is_source(const OpSpec& step, SourceKind kind) {
  const SourceDef* const def = find_source(step.name);
  return def != nullptr && def->kind == kind;
}

}  // namespace forebay
