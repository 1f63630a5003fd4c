#include "base/shared_module.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "base/folder_entries.h"
#include "base/module_folders.h"

namespace forebay {

namespace {

namespace fs = std::filesystem;

/// Folder of the program or shared object that this code was linked into.
fs::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  // The loader names a program by its first argument, which is useless if the program was found on
  // PATH.
  if (fs::path(info.dli_fname).is_relative()) {
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (!error && program.filename() == fs::path(info.dli_fname).filename()) return program.parent_path();
  }
  const fs::path resolved = fs::canonical(info.dli_fname, error);
  return error ? fs::path() : resolved.parent_path();
}

std::vector<fs::path> site_packages(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const fs::path& entry : entries_of(folder.parent_path() / "lib")) {
    if (entry.filename().string().starts_with("python3.")) found.push_back(entry / "site-packages" / "forebay");
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Folders in which the dynamic loader looks for libraries of this program.
std::vector<fs::path> loader_folders() {
  void* const program = dlopen(nullptr, RTLD_LAZY);
  Dl_serinfo size{};
  if (program == nullptr || dlinfo(program, RTLD_DI_SERINFOSIZE, &size) != 0) return {};
  const auto memory = std::make_unique<std::max_align_t[]>(size.dls_size / sizeof(std::max_align_t) + 1);
  auto* const info = reinterpret_cast<Dl_serinfo*>(memory.get());
  *info = size;
  if (dlinfo(program, RTLD_DI_SERINFO, info) != 0) return {};
  std::vector<fs::path> found;
  for (const Dl_serpath* path = info->dls_serpath; path != info->dls_serpath + info->dls_cnt; ++path)
    found.emplace_back(path->dls_name);
  return found;
}

}  // namespace

std::vector<fs::path> module_folders() {
  std::vector<fs::path> all;
  const char* const named = std::getenv("FOREBAY_MODULE_DIR");
  if (named != nullptr && *named != '\0') all.emplace_back(named);
  if (const fs::path own_path = own_folder(); !own_path.empty()) {
    all.push_back(own_path);
    for (fs::path& folder : site_packages(own_path)) all.push_back(std::move(folder));
  }
  for (fs::path& folder : loader_folders()) all.push_back(std::move(folder));
  return all;
}

namespace {

Status missing(const SharedModule& module, const std::string& reason) {
  return unsupported(reason.empty() ? module.needed : fmt::format("{} ({})", module.needed, reason));
}

/// Makes one attempt. Errors quote the loader, which names the library that was not found.
Result<void*> load(const fs::path& file, const SharedModule& module) {
  dlerror();
  // Local, so that symbols of the module do not override those of the process.
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const std::string reason = dlerror();
    // The name of the module itself says that it was not found; any other reason means that it
    // lacks another library.
    return missing(module, reason.starts_with(module.file + ":") ? "" : reason);
  }
  void* const function = dlsym(handle, module.function.c_str());
  if (function == nullptr)
    return unsupported(fmt::format("{} belongs to another version of Forebay: install Forebay again", file.string()));
  return function;
}

}  // namespace

Result<void*> function_of_module(const SharedModule& module) {
  std::optional<Status> reason;
  for (const fs::path& folder : module_folders()) {
    std::error_code error;
    if (!fs::is_regular_file(folder / module.file, error)) continue;
    Result<void*> function = load(folder / module.file, module);
    if (function.ok()) return function;
    reason = function.status();
  }
  Result<void*> function = load(module.file, module);
  return function.ok() || !reason ? function : Result<void*>(*std::move(reason));
}

}  // namespace forebay
