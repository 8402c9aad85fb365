# What `cmake --install` puts where, below its prefix, which may be moved afterwards. Two components:
#   program  bin/tandem, lib/tandem/libtandem_engine.so, the manual page and completions, recipes, job scripts, data and
#            Python scripts, documentation: the content of the Debian package
#   library  static libraries, headers and a CMake package, for find_package(tandem) and tandem::train
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)
install(TARGETS tandem RUNTIME)
set(installed TANDEM ${CMAKE_INSTALL_BINDIR}/tandem)
if(NOT TANDEM_ONE_PIECE)
  install(TARGETS tandem_engine_library LIBRARY DESTINATION lib/tandem)
  list(APPEND installed TANDEM_ENGINE lib/tandem/libtandem_engine.so)
endif()
if(CudaHeaders_FOUND)
  install(TARGETS tandem_gpu_library LIBRARY DESTINATION lib/tandem)
  list(APPEND installed TANDEM_ENGINE lib/tandem/libtandem_gpu.so)
endif()
while(library_dirs AND installed)
  list(POP_FRONT installed name file)
  install(CODE "file(RPATH_CHANGE FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${file}\"
                     OLD_RPATH \"${${name}_BUILD_RUN_PATHS}\" NEW_RPATH \"${TANDEM_INSTALLED_RUN_PATHS}\")")
endwhile()
install(DIRECTORY jobs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/tandem/jobs USE_SOURCE_PERMISSIONS
        FILES_MATCHING PATTERN *.sbatch PATTERN *.sh PATTERN site.conf PATTERN hostfile.example PATTERN *.def
        PATTERN recipes EXCLUDE)
install(DIRECTORY jobs/recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/tandem)  # where the program looks, from bin
install(DIRECTORY data DESTINATION ${CMAKE_INSTALL_DATADIR}/tandem USE_SOURCE_PERMISSIONS
        FILES_MATCHING PATTERN *.sh PATTERN *.py PATTERN *.md PATTERN __pycache__ EXCLUDE)
if(NOT TANDEM_SANITIZE)
  set(described ${PROJECT_BINARY_DIR}/share)  # by src/app/CMakeLists.txt
  install(FILES ${described}/man/man1/tandem.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${described}/bash-completion/completions/tandem DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  # bash looks for the completion of a command in the file of its name.
  foreach(launcher mpirun mpiexec)
    install(FILES ${described}/bash-completion/completions/tandem RENAME ${launcher}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  endforeach()
  # Below /usr/local and below /usr, Debian's zsh looks into one of these each.
  install(FILES ${described}/zsh/site-functions/_tandem DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${described}/zsh/site-functions/_tandem DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
endif()
install(FILES packaging/modulefile DESTINATION ${CMAKE_INSTALL_DATADIR}/tandem/modulefiles/tandem RENAME ${PROJECT_VERSION})
install(DIRECTORY python DESTINATION ${CMAKE_INSTALL_DATADIR}/tandem USE_SOURCE_PERMISSIONS
        FILES_MATCHING PATTERN *.py PATTERN __pycache__ EXCLUDE)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME library)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tandem)
set(modules core comm data device kernels model metrics train)
set(libraries ${modules} model_front train_front)
list(TRANSFORM libraries PREPEND tandem_)
install(TARGETS ${libraries} EXPORT tandem ARCHIVE INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(module ${modules})
  install(DIRECTORY include/tandem/${module} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tandem)
endforeach()
install(EXPORT tandem NAMESPACE tandem:: FILE tandemTargets.cmake DESTINATION ${package_folder})

configure_package_config_file(cmake/tandemConfig.cmake.in ${PROJECT_BINARY_DIR}/tandemConfig.cmake
                              INSTALL_DESTINATION ${package_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tandemConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tandemConfig.cmake ${PROJECT_BINARY_DIR}/tandemConfigVersion.cmake cmake/FindLibTorch.cmake
        DESTINATION ${package_folder})
