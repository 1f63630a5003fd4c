#include "loader/describe/hdf5_args.h"

#include <algorithm>

#include <fmt/format.h>

#include "format/hdf5/open_hdf5.h"
#include "ops/definition/args.h"

namespace forebay {

namespace {

// Keeps products of rows and strides within 64 bits.
constexpr int64_t kMaxWindowRows = int64_t{1} << 40;

bool is_filled_text(const Json& value) { return value.is_string() && value != ""; }

void check_hdf5_fields(const Json& fields, Problems& problems) {
  const bool paths = fields.is_object() && !fields.empty() && std::all_of(fields.begin(), fields.end(), is_filled_text);
  const bool names = paths && !fields.contains("");
  if (!names) {
    problems.add("fields does not give a path for each name",
                 "write {\"signal\": \"/group/data\", \"power\": \"/table.member\", \"rate\": \"/data@attribute\"}");
  }
}

bool is_row_count(const Json& value) {
  return value.is_number_integer() && value.get<int64_t>() >= 1 && value.get<int64_t>() <= kMaxWindowRows;
}

Hdf5Request hdf5_request(const OpSpec& source) {
  Hdf5Request request;
  const Json& pattern = source.args.at("pattern");
  request.is_list = pattern.is_array();
  for (const Json& each : pattern.is_array() ? pattern : Json::array({pattern}))
    request.names.push_back(each.get<std::string>());
  for (const auto& [name, path] : source.args.at("fields").items())
    request.fields.push_back({name, path.get<std::string>()});
  const Json window = source.args.value("window", Json()), stride = source.args.value("stride", Json());
  if (!window.is_null()) {
    request.windows = Hdf5Windows{window.get<int64_t>(), window.get<int64_t>()};
    if (!stride.is_null()) request.windows->stride = stride.get<int64_t>();
  }
  return request;
}

}  // namespace

Json hdf5_args(const Hdf5Options& options) {
  Json args = {{"fields", options.fields}};
  if (options.window) args["window"] = *options.window;
  if (options.stride) args["stride"] = *options.stride;
  return args;
}

void check_hdf5(const OpSpec& source, std::vector<Problem>& found) {
  Problems problems(found);
  const Json pattern = source.args.value("pattern", Json());
  const bool list =
      pattern.is_array() && !pattern.empty() && std::all_of(pattern.begin(), pattern.end(), is_filled_text);
  if (!list && !is_filled_text(pattern))
    problems.add("pattern is neither a text nor a list of texts",
                 "give a pattern such as 'data/**/*.h5', a folder, a file, or a list of files");
  check_hdf5_fields(source.args.value("fields", Json()), problems);
  const Json window = source.args.value("window", Json()), stride = source.args.value("stride", Json());
  if (!window.is_null() && !is_row_count(window))
    problems.add("window is no number of rows", "give how many rows a window has, at least 1");
  if (!stride.is_null() && !is_row_count(stride))
    problems.add("stride is no number of rows", "give how many rows lie between windows, at least 1");
  if (window.is_null() && !stride.is_null()) problems.add("stride without window", "give window=, too, or neither");
}

Result<std::shared_ptr<const Source>> open_hdf5_step(const OpSpec& source, const OpenSourceOptions& options) {
  const Hdf5Request request = hdf5_request(source);
  FOREBAY_ASSIGN(StoreAndPath at, open_store_for(request.names.front(), options));
  FOREBAY_ASSIGN(std::shared_ptr<const Source> opened, open_hdf5(std::move(at), request, options.stop));
  return opened;
}

}  // namespace forebay
