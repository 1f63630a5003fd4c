#include "format/hdf5/open_hdf5.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "base/mutex.h"
#include "format/files/find_files.h"
#include "format/hdf5/hdf5_file.h"
#include "format/table/table_data.h"
#include "format/table/table_source.h"

namespace forebay {

namespace {

constexpr std::array<std::string_view, 6> kHdf5Endings = {".h5", ".hdf5", ".hdf", ".he5", ".h5ad", ".nc"};
// Opening waits for one small read after the other, so many files at once take no longer than one.
constexpr size_t kFilesAtOnce = 16, kBadFilesNamed = 10;

/// Opens the files of one request, several at a time. An error in one file does not stop the
/// others, so that all are reported.
class FileOpener {
 public:
  FileOpener(DataFiles& files, const Hdf5Request& request, std::stop_token stop)
      : files_(files), request_(request), stop_(std::move(stop)), opened_(files.files.size()) {}

  Status run() {
    // Threads instead of reading jobs, because each read depends on the bytes of the previous one,
    // deep in the parsers.
    std::vector<std::jthread> others;
    const size_t threads = std::min(kFilesAtOnce, opened_.size());
    try {
      while (others.size() + 1 < threads) others.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // No further thread can be started; this thread opens all files.
    }
    work();
    others.clear();
    const Lock lock(mutex_);
    if (!failed_.ok()) return failed_;
    return bad_.empty() ? Status() : bad_files_error();
  }

  std::vector<std::shared_ptr<const TableFile>>& opened() { return opened_; }

 private:
  void work() {
    while (true) {
      const size_t file = next_.fetch_add(1);
      if (file >= opened_.size() || ended_.load()) return;
      Result<std::shared_ptr<const TableFile>> opened = open(files_.files[file]);
      if (opened.ok()) {
        opened_[file] = std::move(*opened);
        continue;
      }
      const Lock lock(mutex_);
      const Code code = opened.status().code();
      // An error of this file. Other errors would be the same for the next file.
      if (is_data_error(code) || code == Code::kInvalidArgument) {
        bad_.emplace(file, opened.status());
      } else {
        failed_ = Status(opened.status()).with_key(name(file));
        ended_.store(true);
      }
    }
  }

  Result<std::shared_ptr<const TableFile>> open(DataFile& entry) {
    if (stop_.stop_requested()) return cancelled("stopped while the files were being opened");
    if (!entry.size) {
      FOREBAY_ASSIGN(const ObjectInfo info, stat_wait(*files_.store, entry.key, stop_));
      entry.size = info.size;
      entry.version = info.version;
    }
    Hdf5BytesInStore bytes(*files_.store, entry.key, *entry.size, stop_);
    FOREBAY_ASSIGN(Hdf5Metadata metadata, Hdf5Metadata::open(bytes));
    FOREBAY_ASSIGN(Hdf5Columns columns, resolve_hdf5_fields(metadata, request_.fields, request_.windows));
    return std::shared_ptr<const TableFile>(
        std::make_shared<Hdf5File>(std::move(columns), request_.windows, metadata.offset(0)));
  }

  std::string name(size_t file) const { return files_.store->display_name(files_.files[file].key); }

  Status bad_files_error() const FOREBAY_REQUIRES(mutex_) {
    const auto& [file, first] = *bad_.begin();
    if (bad_.size() == 1) {
      return Status(first.code(),
                    fmt::format("{}; correct it, or leave the file out by a narrower pattern or a list of the others",
                                first.message()))
          .with_key(name(file));
    }
    std::string text = fmt::format("{} of {} files cannot be read:", bad_.size(), opened_.size());
    size_t named = 0;
    for (const auto& [i, status] : bad_) {
      if (named++ == kBadFilesNamed) break;
      text += fmt::format("\n  {}: {}", name(i), status.message());
    }
    if (bad_.size() > kBadFilesNamed) text += fmt::format("\n  and {} more", bad_.size() - kBadFilesNamed);
    return Status(
        first.code(),
        fmt::format("{}\nCorrect them, or leave them out by a narrower pattern or a list of the others", text));
  }

  DataFiles& files_;
  const Hdf5Request& request_;
  const std::stop_token stop_;
  std::vector<std::shared_ptr<const TableFile>> opened_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> ended_{false};
  Mutex mutex_;
  std::map<size_t, Status> bad_ FOREBAY_GUARDED_BY(mutex_);
  Status failed_ FOREBAY_GUARDED_BY(mutex_);
};

/// How rows are made from files, as part of the identity of cached rows. "1" is the version of
/// cutting and decoding row groups.
std::string made_by(const Hdf5Request& request) {
  std::string text = "hdf5 1\n";
  if (request.windows) text += fmt::format("windows {} {}\n", request.windows->rows, request.windows->stride);
  for (const Hdf5Field& field : request.fields)
    text += fmt::format("{}:{} {}:{}\n", field.name.size(), field.name, field.path.size(), field.path);
  return text;
}

Hash128 version_of_files(const TableData& data) {
  Hasher hasher;
  for (size_t part = 0; part < data.parts.size(); ++part) {
    // Keys are relative to the base, because the place of a data set is not part of its identity.
    hasher.update(std::string_view(data.parts[part].key).substr(data.base.size()));
    hasher.update_value(uint8_t{0});
    hasher.update_value(data.parts[part].size);
    hasher.update_value(data.part_begins[part]);
  }
  hasher.update_value(data.begins.back());
  for (const TableColumn& column : data.schema.columns) hasher.update(column.field.to_string() + "\n");
  hasher.update(data.decoded_by);
  return hasher.digest();
}

Result<UnitedSchema> one_schema(const TableData& data, const Hdf5Request& request) {
  std::vector<std::shared_ptr<const TableFile>> files;
  std::vector<std::string> names, fields;
  for (size_t part = 0; part < data.parts.size(); ++part) {
    files.push_back(data.parts[part].file);
    names.push_back(data.part_name(part));
  }
  for (const Hdf5Field& field : request.fields) fields.push_back(field.name);
  return unite_schemas({files, names, {}, fields, {}, {}, /*first_decides=*/true});
}

Status no_windows_fit(const Hdf5Request& request) {
  return invalid_argument(
      fmt::format("no file has the {} rows of a window; give a smaller window=", request.windows->rows));
}

}  // namespace

Result<std::shared_ptr<const ChunkSource>> open_hdf5(StoreAndPath at, const Hdf5Request& request,
                                                     std::stop_token stop) {
  FOREBAY_ASSIGN(DataFiles files, find_data_files(std::move(at), {request.is_list, request.names, kHdf5Endings}, stop));
  FileOpener opener(files, request, std::move(stop));
  FOREBAY_RETURN_IF_ERROR(opener.run());
  auto data = std::make_shared<TableData>();
  data->store = files.store;
  data->base = files.base;
  data->group_word = request.windows ? "span of windows" : "span of rows";
  data->decoded_by = made_by(request);
  for (size_t i = 0; i < files.files.size(); ++i) {
    DataFile& entry = files.files[i];
    data->parts.push_back(
        {std::move(entry.key), entry.size.value_or(0), entry.version, std::move(opener.opened()[i]), {}, {}});
  }
  FOREBAY_ASSIGN(data->schema, one_schema(*data, request));
  FOREBAY_RETURN_IF_ERROR(data->find_chunks());
  if (request.windows && data->begins.back() == 0) return no_windows_fit(request);
  data->version = version_of_files(*data);
  return std::shared_ptr<const ChunkSource>(std::make_shared<TableSource>(std::move(data)));
}

}  // namespace forebay
