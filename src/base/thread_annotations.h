#pragma once

/// Annotations for clang's thread safety analysis (-Wthread-safety), which `tools/thread_safety`
/// runs over all sources. They say which lock guards what; other compilers do not see them.
/// CONTRIBUTING.md shows a class with a lock.
#if defined(__clang__)
#define FOREBAY_THREAD_ANNOTATION(...) __attribute__((__VA_ARGS__))
#else
#define FOREBAY_THREAD_ANNOTATION(...)
#endif

/// On a class: its objects are locks. The text names them in messages.
#define FOREBAY_CAPABILITY(name) FOREBAY_THREAD_ANNOTATION(capability(name))
/// On a class: its objects hold a lock from their construction to their destruction.
#define FOREBAY_SCOPED_CAPABILITY FOREBAY_THREAD_ANNOTATION(scoped_lockable)

/// On a member: it is read and written with the lock held only.
#define FOREBAY_GUARDED_BY(mutex) FOREBAY_THREAD_ANNOTATION(guarded_by(mutex))
/// On a pointer: the object that it points to is used with the lock held only.
#define FOREBAY_PT_GUARDED_BY(mutex) FOREBAY_THREAD_ANNOTATION(pt_guarded_by(mutex))

/// On a function or lambda: the caller holds the lock.
#define FOREBAY_REQUIRES(...) FOREBAY_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
/// On a function: the caller holds the lock, shared or alone.
#define FOREBAY_REQUIRES_SHARED(...) FOREBAY_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))
/// On a function: the caller does not hold the lock, because the function takes it.
#define FOREBAY_EXCLUDES(...) FOREBAY_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

/// On a function: it takes the lock, and the caller holds it afterwards.
#define FOREBAY_ACQUIRE(...) FOREBAY_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define FOREBAY_ACQUIRE_SHARED(...) FOREBAY_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
/// On a function: it takes the lock if it returns the first argument.
#define FOREBAY_TRY_ACQUIRE(...) FOREBAY_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
/// On a function: it releases the lock.
#define FOREBAY_RELEASE(...) FOREBAY_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define FOREBAY_RELEASE_SHARED(...) FOREBAY_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))

/// On a function that returns a reference to a lock.
#define FOREBAY_RETURN_CAPABILITY(mutex) FOREBAY_THREAD_ANNOTATION(lock_returned(mutex))
/// On a mutex: it is taken before, or after, the named mutexes of the same class.
#define FOREBAY_ACQUIRED_BEFORE(...) FOREBAY_THREAD_ANNOTATION(acquired_before(__VA_ARGS__))
#define FOREBAY_ACQUIRED_AFTER(...) FOREBAY_THREAD_ANNOTATION(acquired_after(__VA_ARGS__))

/// On a function: the analysis cannot follow it. A comment beside it says why.
#define FOREBAY_NO_THREAD_SAFETY_ANALYSIS FOREBAY_THREAD_ANNOTATION(no_thread_safety_analysis)
