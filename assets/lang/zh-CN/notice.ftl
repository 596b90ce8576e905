# notice

## From the engine
notice-recovered-calls = Nod 关闭时还有调用在运行：{ $count } 个。请检查它们的目标；Nod 不会自动重新运行。
notice-folder-disk = 这是整个磁盘。除被禁止的位置外，Nod 都能读取：{ $path }
notice-folder-home = 这是主文件夹。其中的机密仍被禁止访问，但选小一点的文件夹更安全：{ $path }
notice-folder-holds-blocked = 这个文件夹里有些位置仍被禁止访问：{ $path }
