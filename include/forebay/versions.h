#pragma once

#include <string>
#include <vector>

namespace forebay {

/// A library that Forebay uses, and the version of it that runs in this process.
struct LibraryVersion {
  std::string name;     ///< such as "libjpeg-turbo"
  std::string version;  ///< such as "2.1.5"; the version at compile time if the library does not tell its own
};

/// A part of Forebay that is loaded when it is first used, because few programs need its libraries.
struct ModuleVersion {
  std::string name;  ///< "arrow", "http", "kafka", "nats", "redis", "sound" or "xml"
  bool loads = false;
  /// The libraries of the module with their versions, if it loads and knows them. Otherwise why it
  /// does not load, and the remedy.
  std::string detail;
};

/// The versions of everything that runs here, to be attached to a report of a defect.
struct Versions {
  std::string forebay;                    ///< such as "0.1.0"
  std::string revision;                   ///< commit that the build was configured at; empty if unknown
  std::string compiler;                   ///< such as "GNU 12.2.0"
  std::vector<std::string> processor;     ///< instruction sets of this processor that Forebay has code for
  std::vector<LibraryVersion> libraries;  ///< of the engine itself, sorted by name
  std::vector<ModuleVersion> modules;     ///< sorted by name
};

/// Loads every module that can be loaded, and returns the versions of everything. May be called from
/// any thread.
Versions versions();

}  // namespace forebay
