#include "loader/describe/open_materialized_step.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "format/materialized/open_materialized.h"
#include "format/table/load_codecs.h"
#include "loader/describe/materialized_steps.h"
#include "ops/definition/args.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

bool is_remote(std::string_view url) { return !url_scheme(url).empty() && url_scheme(url) != "file"; }

// Whether any argument of the source is a remote URL.
bool is_remote(const OpSpec& source) {
  const std::function<bool(const Json&)> any = [&](const Json& value) {
    if (value.is_string()) return is_remote(value.get<std::string>());
    return value.is_structured() && std::any_of(value.begin(), value.end(), any);
  };
  return any(source.args);
}

Status check_original(const MaterializedManifest& manifest, const std::string& folder,
                      const OpenSourceOptions& options) {
  const std::optional<OpSpec> original = original_source(manifest.steps);
  if (!original) return {};  // the original cannot be opened from here
  OpenSourceOptions how = options;
  // Only the version of the whole data set is compared, which covers names and sizes.
  how.keep_versions = false;
  how.warnings = nullptr;  // samples are not read from the original
  // The options are for the store of the folder; a local original has none.
  if (is_remote(folder) && !is_remote(*original)) how.storage_options.clear();
  const Result<std::shared_ptr<const Source>> opened = open_source(*original, how);
  if (opened.status().code() == Code::kCancelled) return opened.status();
  if (!opened.ok()) {
    log_warning(fmt::format(
        "materialized({}): whether the data set that it was made of has changed is not known, since it cannot be "
        "opened here ({}). Give original=\"trust\" where that is expected",
        folder, opened.status().message()));
    return {};
  }
  if ((*opened)->version() == manifest.version) return {};
  return Status(
             Code::kStateMismatch,
             "was made of a data set that has changed since: other objects, sizes or names. Bring it up to date with "
             "materialize(..., update=True), or `forebay materialize --update`, which makes only what is new; or "
             "give original=\"trust\" to read what is here")
      .with_key(folder);
}

}  // namespace

void check_materialized(const OpSpec& source, std::vector<Problem>& found) {
  const Json original = source.args.value("original", Json("check"));
  if (original.is_null() || original == Json("check") || original == Json("trust")) return;
  Problems(found).add(fmt::format("original is {}", original.dump(-1, ' ', false, Json::error_handler_t::replace)),
                      "it is \"check\", or \"trust\" where the original is not looked at");
}

Result<std::shared_ptr<const Source>> open_materialized_step(const OpSpec& source, const OpenSourceOptions& options) {
  const Json given = source.args.value("url", Json());
  const std::string url = given.is_string() ? given.get<std::string>() : "";
  if (url.empty()) return invalid_argument("materialized: the URL is empty; give the folder that was written");
  FOREBAY_ASSIGN(StoreAndPath folder, open_store_for(url, options));
  FOREBAY_ASSIGN(MaterializedManifest manifest, read_manifest(folder, options.stop));
  if (source.args.value("original", Json("check")) != Json("trust"))
    FOREBAY_RETURN_IF_ERROR(check_original(manifest, folder.store->display_name(folder.path), options));
  FOREBAY_ASSIGN(const TableCodecs* codecs, load_table_codecs());
  return open_materialized(std::move(folder), std::move(manifest), *codecs, options.stop);
}

}  // namespace forebay
